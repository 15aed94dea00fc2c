package agent

import "golang.org/x/sys/unix"

// awaitExit returns true when the child can be reaped, without reaping it, so
// that the reaping itself can be done under a lock.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
