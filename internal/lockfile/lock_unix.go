//go:build unix

package lockfile

import (
	"os"

	"golang.org/x/sys/unix"
)

func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// lockable tells that nobody has f locked. It ends with f being shared, until
// that is closed.
func lockable(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil }
