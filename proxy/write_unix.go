//go:build unix

package proxy

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// writeNow writes what a descriptor takes without waiting. A full pipe is no
// error.
func writeNow(fd int, b []byte) (int, error) {
	done := 0
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if n > 0 {
			done += n
			b = b[n:]
		}
		switch err {
		case nil, syscall.EINTR:
		case syscall.EAGAIN:
			return done, nil
		default:
			return done, err
		}
	}
	return done, nil
}

// hungUp tells that nobody has the other end of a pipe or a socket any more.
func hungUp(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}

const canWriteNow = true
