// Package agent is one child process: where its program is found, how it is
// started, its pipes and stderr, how it is ended together with everything it
// started, and what its end means in words.
//
// It owns the operating system's side of that and nothing else. When a process
// is ended, in what order and how long each step may take is decided by its
// user: the functions here return within milliseconds (Kill within a quarter of
// a second, whatever the system does) and may be called by any goroutine, in
// any order, at any time and more than once. The package must not know ACP,
// frames, sessions or profiles.
//
// # Whose process is it
//
// A tool may leave its process group, its session and its parent, so none of
// the three tells whom it belongs to. What it keeps, unless it works at it, is
// its environment. Every child gets two marks there:
//
//	ACP_SHIM_RUN=<run>          all that this shim ever started
//	ACP_SHIM_PROC=<run>.<gen>   all that comes from one agent process
//
// Both are lists joined by colons, outermost shim first: shims can be nested,
// and the outer one's Kill and guard must reach what the inner one started.
// Kill takes everything that carries the mark, that is in the agent's session,
// or that descends from it by parent. What clears its environment, leaves the
// session and lets its parent die is in none of these and escapes; on Linux
// KillOrphans catches that as well at an orderly end.
//
// # The guard
//
// SIGKILL leaves a process no time to clean up, and clients use it without
// warning. The guard is a second copy of the same binary which holds the read
// end of a pipe; only the shim has the write end. When the pipe closes, in
// whichever way the shim ended, the guard kills what carries its mark. On
// Windows a job object that ends its processes when its last handle closes
// does the same without a second process.
//
// # Goroutines of a Process
//
//	wait      started by Start; blocked in wait(2); ends when the child is reaped
//	read      reads stderr; ends at its end of file or at Release
//	deliver   calls Spec.Stderr; ends after read, when all is delivered
//	scratch   removes the private temporary directory; ends when that is gone
package agent
