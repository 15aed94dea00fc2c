//go:build unix

package state

import (
	"os"

	"golang.org/x/sys/unix"
)

func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
