package agent

import "golang.org/x/sys/unix"

// commandLine is a process's program and arguments, nil if they cannot be read.
func commandLine(pid int) []string {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	return commandOfProcArgs(b)
}
