package proxy

import "syscall"

// The numbers are those of winerror.h.
func goneHere() []error {
	return []error{syscall.Errno(109), syscall.Errno(232), syscall.Errno(233), syscall.Errno(10053), syscall.Errno(10054)}
}

// failsHere has what a disk, a handle and a busy pipe say.
func failsHere() []error {
	return []error{syscall.Errno(112), syscall.Errno(6), syscall.Errno(231), syscall.Errno(29)}
}
