package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"acp-shim/internal/textfile"
)

// create opens the file that path asks for, and tells where it is.
func create(path string, opt Options) (file, string, *shelf, error) {
	if path == "" {
		return nil, "", nil, errors.New("no file or directory is named for the capture")
	}
	dir := os.IsPathSeparator(path[len(path)-1])
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir = true
	}
	f, at, err := createIn(path, dir, opt)
	if err != nil {
		return nil, "", nil, err
	}
	return f, at, newShelf(at, path, dir, opt), nil
}

func createIn(path string, dir bool, opt Options) (file, string, error) {
	if dir {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, "", fmt.Errorf("making the directory of the capture: %w", err)
		}
		return createNew(filepath.Join(path, runName(opt)), ".jsonl")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, "", fmt.Errorf("making the directory of the capture: %w", err)
	}
	f, err := openFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, "", err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no file; name a file or a directory", path)
	case !textfile.Owned(info):
		// It was put there by somebody who wants to read what comes.
		err = fmt.Errorf("%s belongs to another user, so that no capture is written to it; name another file", path)
	case !lock(f):
		// Lines of two runs would be mixed.
		f.Close()
		ext := filepath.Ext(path)
		return createNew(strings.TrimSuffix(path, ext)+"-"+runName(opt), ext)
	case info.Mode().Perm()&0o077 != 0:
		// It may have been made by hand, and is about to hold a conversation.
		_ = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, "", err
	}
	return osFile{f}, path, nil
}

// createNew makes a file that was not there before.
func createNew(stem, ext string) (file, string, error) {
	for n := 1; ; n++ {
		name := stem + ext
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", stem, n, ext)
		}
		f, err := openFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		lock(f)
		return osFile{f}, name, nil
	}
}

// runName is the name of a run in a directory: when, who, what.
func runName(opt Options) string {
	agent := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, opt.Agent)
	if agent == "" {
		agent = "agent"
	}
	return fmt.Sprintf("%s-%d-%s", opt.Start.UTC().Format("20060102T150405.000Z"), os.Getpid(), agent[:min(len(agent), 40)])
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// endsLine reports whether the last line of a file has its end. One that was
// torn by a kill gets it before the next run's header.
func endsLine(f file) bool {
	r, ok := f.(interface {
		ReadAt(b []byte, off int64) (int, error)
	})
	size, err := f.Size()
	if !ok || err != nil || size == 0 {
		return true
	}
	var last [1]byte
	_, err = r.ReadAt(last[:], size-1)
	return err != nil || last[0] == '\n'
}
