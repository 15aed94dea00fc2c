//go:build !windows

package proxy

import "syscall"

func goneHere() []error { return []error{syscall.EPIPE, syscall.ECONNRESET} }

func failsHere() []error {
	return []error{syscall.EIO, syscall.ENOSPC, syscall.EBADF, syscall.EINVAL, syscall.ENXIO}
}
