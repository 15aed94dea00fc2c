package agent

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	errBadExec = syscall.ELIBBAD
	errBadArch = syscall.ELIBEXEC
)

func noexecMount(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_NOEXEC != 0
}
