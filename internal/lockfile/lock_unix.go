//go:build unix

package lockfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes f, and reports false where somebody else has it. An error means that
// it cannot be told: some file systems have no locks, and nobody owns anything there.
func lock(f *os.File) (bool, error) { return flock(f, unix.LOCK_EX) }

// lockable tells that nobody has f locked, and ends with f being shared, until that is
// closed. An error is that of lock.
func lockable(f *os.File) (bool, error) { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return false, err
		}
	}
}
