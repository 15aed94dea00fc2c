// Package lockfile keeps others away from what a file stands for. A lock is the
// system's, on a file that has its owner's pid in it, so that it goes with the
// process that holds it, whichever way that ends.
//
// It owns the file and what is in it. It must not know what the lock is for.
package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/textfile"
)

// tries and wait bound how long Take waits: who only looks whether a lock is held
// has it for a moment, and is not an owner.
const (
	tries = 10
	wait  = 2 * time.Millisecond
)

// Take locks a file, and makes it where it is missing. Without an error it is either locked, or owner says whose
// it is.
func Take(path string) (f *os.File, owner string, err error) { return take(path, lock) }

func take(path string, lock func(*os.File) (bool, error)) (f *os.File, owner string, err error) {
	for range 100 {
		f, err := textfile.OpenOwn(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, "", err
		}
		got, err := lock(f)
		for try := 1; !got && err == nil && try < tries; try++ {
			time.Sleep(wait)
			got, err = lock(f)
		}
		if err != nil {
			f.Close()
			return nil, "", fmt.Errorf("locking %s: %w", path, err)
		}
		if !got {
			owner := ownerIn(f)
			f.Close()
			return nil, owner, nil
		}
		// Its owner may have removed it between the opening and the lock.
		held, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, there) {
			f.Truncate(0)
			f.WriteAt(fmt.Appendf(nil, "pid %d", os.Getpid()), 0)
			return f, "", nil
		}
		f.Close()
	}
	return nil, "", fmt.Errorf("locking %s: it is removed and made again all the time", path)
}

// Drop gives up what Take got.
func Drop(f *os.File) {
	os.Remove(f.Name()) // while it is locked; see Take
	f.Close()
}

// ownerIn is what the owner of a locked file has written of itself.
func ownerIn(f *os.File) string {
	text := make([]byte, 64)
	n, _ := f.ReadAt(text, 0)
	pid, err := strconv.Atoi(strings.TrimPrefix(string(text[:n]), "pid "))
	if err != nil {
		return "its pid is not known"
	}
	return fmt.Sprintf("pid %d", pid)
}

// Owner tells whose a lock is, "" if nobody's. An error means that this cannot be told:
// it may be anybody's then. It disturbs nobody who takes it meanwhile.
func Owner(path string) (string, error) { return ownerOf(path, lockable) }

func ownerOf(path string, lockable func(*os.File) (bool, error)) (string, error) {
	// Before it is opened: a FIFO would wait for a writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	switch free, err := lockable(f); {
	case err != nil:
		return "", fmt.Errorf("seeing whether %s is locked: %w", path, err)
	case free:
		return "", nil
	}
	return ownerIn(f), nil
}
