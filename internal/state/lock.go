package state

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A lock is the system's, on a file that has its owner's pid in it, so that it
// goes with the process that holds it, whichever way that ends.

// lockTries and lockWait bound how long take waits: who only looks whether a
// lock is held has it for a moment, and is not an owner.
const (
	lockTries = 10
	lockWait  = 2 * time.Millisecond
)

// take locks a file. Without an error it is either locked, or owner says whose
// it is.
func take(path string) (f *os.File, owner string, err error) {
	for range 100 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, "", err
		}
		got := lock(f)
		for try := 1; !got && try < lockTries; try++ {
			time.Sleep(lockWait)
			got = lock(f)
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

// drop gives up what take got.
func drop(f *os.File) {
	os.Remove(f.Name()) // while it is locked; see take
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

// ownerOf tells whose a lock is, "" if nobody's. It disturbs nobody who takes
// it meanwhile.
func ownerOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if lockable(f) {
		return ""
	}
	return ownerIn(f)
}
