//go:build unix

package lockfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes f, and reports false where somebody else has it. An error means that
// it cannot be told: some file systems have no locks, and nobody owns anything there.
func lock(f *os.File) (bool, error) { return flock(f, unix.LOCK_EX) }

// lockable tells that nobody has f locked, as far as that can be told. It ends with f
// being shared, until that is closed.
func lockable(f *os.File) bool {
	free, err := flock(f, unix.LOCK_SH)
	return free || err != nil
}

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
