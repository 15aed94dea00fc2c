//go:build unix

package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Take moves stdin and stdout to private descriptors. Descriptor 1 points at
// stderr from then on.
func Take() (*Streams, error) {
	s := &Streams{OutFD: -1}
	in, err := private(0)
	if err != nil {
		return nil, fmt.Errorf("taking stdin: %w", err)
	}
	out, err := private(1)
	if err != nil {
		return nil, fmt.Errorf("taking stdout: %w", err)
	}
	// Without a stderr there is nothing to point at; then stray prints fail.
	if err := redirect(2, 1); err != nil {
		unix.Close(1)
	}
	in, _ = s.unblock(in, 0, unix.O_RDONLY)
	out, polled := s.unblock(out, 1, unix.O_WRONLY)
	s.In, s.Out = os.NewFile(uintptr(in), "stdin"), os.NewFile(uintptr(out), "stdout")
	if polled {
		s.OutFD = out
	}
	return s, nil
}

func private(fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err == unix.EBADF {
		// It was closed by whoever started us: the same as an empty one.
		return unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	return n, err
}

// unblock makes a descriptor that never waits out of fd, where it is a FIFO or
// a socket. O_NONBLOCK sits on the open file description, which others share: a
// FIFO is opened anew; a socket, which cannot be, is left alone where stderr is
// the same object, since the agent's stderr would then get EAGAIN.
func (s *Streams) unblock(fd, number, mode int) (int, bool) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return fd, false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		if again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			unix.Close(fd)
			enlarge(again)
			return again, true
		}
	case unix.S_IFSOCK:
	default:
		return fd, false
	}
	var other unix.Stat_t
	if unix.Fstat(2, &other) == nil && other.Dev == st.Dev && other.Ino == st.Ino {
		return fd, false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || unix.SetNonblock(fd, true) != nil {
		return fd, false
	}
	if flags&unix.O_NONBLOCK == 0 {
		s.restore = append(s.restore, func() { unix.SetNonblock(fd, false) })
	}
	return fd, true
}
