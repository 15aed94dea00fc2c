//go:build unix

package doctor

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

func lookPath(name string) (string, error) { return exec.LookPath(name) }
