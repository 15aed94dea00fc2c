//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package record

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openFile opens what name itself is, and does not wait for anybody where that
// is a pipe.
func openFile(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed; name the file itself", name)
	}
	return f, err
}

// canLock tells that a file which somebody writes to can be told from others.
const canLock = true

// lock takes a file for this process, until it is closed. It reports false where
// another one has it.
func lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
