// Package faults makes chosen system calls of another process fail, so that a test
// can see what the program makes of an error that no machine gives on demand: a
// disk that is full at the third write, a fork that is refused.
//
// It owns how a call is caught and answered. It must not know which program it
// is done to, nor what a fault should come to. For tests only, and for Linux: a
// seccomp filter in the program hands its calls to the test, which lets each go
// on or answers it with an error. Unlike strace it counts for the process as a
// whole and not by thread, and what the program starts runs undisturbed.
package faults
