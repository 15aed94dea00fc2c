//go:build !windows

package proxy

import "syscall"

// goneCodes are how a peer's end shows on a pipe and, where it died with something
// unread, on a socket.
var goneCodes = [...]syscall.Errno{syscall.EPIPE, syscall.ECONNRESET}
