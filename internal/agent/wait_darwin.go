package agent

import "golang.org/x/sys/unix"

// awaitExit returns true when the child can be reaped, without reaping it.
// waitid cannot be used here: it also returns for a process that was stopped.
func awaitExit(pid int) bool {
	kq, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(kq)
	unix.CloseOnExec(kq)
	change := []unix.Kevent_t{{}}
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(kq, change, events, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ESRCH:
			return true // a zombie already
		case err != nil:
			return false
		case n > 0:
			return events[0].Flags&unix.EV_ERROR == 0 || events[0].Data == int64(unix.ESRCH)
		}
	}
}
