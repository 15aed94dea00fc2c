package proxy

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// goneCodes are how a peer's end shows: on a pipe that it has closed, is closing, or
// whose server has cut it off, and on a socket. EPIPE and ECONNRESET are inventions of
// package syscall's here, which no call gives.
var goneCodes = [...]syscall.Errno{
	windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_PIPE_NOT_CONNECTED,
	windows.WSAECONNRESET, windows.WSAECONNABORTED,
}
