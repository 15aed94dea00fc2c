package stdio

import "golang.org/x/sys/unix"

// enlarge lets a batch of frames through in one write; without the right to,
// the pipe keeps its size.
func enlarge(fd int) { unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 256<<10) }

func redirect(from, to int) error { return unix.Dup3(from, to, 0) }
