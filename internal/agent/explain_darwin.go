package agent

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	errBadExec = syscall.EBADEXEC
	errBadArch = syscall.EBADARCH
)

func noexecMount(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.MNT_NOEXEC != 0
}
