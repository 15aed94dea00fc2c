//go:build unix

package proxy

import "syscall"

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

const canWriteNow = true
