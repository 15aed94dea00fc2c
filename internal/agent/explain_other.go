//go:build unix && !linux && !darwin

package agent

import "syscall"

// Systems that have no errors of their own for these; the numbers are no errno's.
const (
	errBadExec = syscall.Errno(1 << 20)
	errBadArch = syscall.Errno(1<<20 + 1)
)

func noexecMount(string) bool { return false }
