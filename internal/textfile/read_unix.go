//go:build unix

package textfile

import "syscall"

// noWait has the opening of a pipe not wait for somebody who writes to it.
const noWait = syscall.O_NONBLOCK
