//go:build unix

package agent

import (
	"os"
	"syscall"
)

// setBlocking makes a child's end of a pipe block. os.Pipe makes both ends
// non-blocking, and that Fd undoes it for the sake of old programs is nothing to
// rely on.
func setBlocking(f *os.File) error {
	return syscall.SetNonblock(int(f.Fd()), false)
}
