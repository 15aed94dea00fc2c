//go:build unix

package doctor

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

func lookPath(name string) (string, error) { return exec.LookPath(name) }
