package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// enlarge makes room for frames that are larger than the usual 64 KiB, so that
// a process that is slow to read holds fewer of them up. What a user may have
// in pipes altogether is limited; then it stays as it is.
func enlarge(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	c.Control(func(fd uintptr) {
		for _, size := range []int{256 << 10, 128 << 10} {
			if _, err := unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size); err == nil {
				return
			}
		}
	})
}
