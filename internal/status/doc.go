// Package status is how a running shim tells others how it is: which agent it
// has, what became of cancels, whether tokens are reported, its sessions, turns,
// processes and last events.
//
// A [Board] is a tap: it counts under the loop's lock, and a goroutine of its own
// writes what it has counted to a file of the state directory, some time after
// something has changed. While nothing changes nothing wakes, and the chunks of a
// stream, which are most of all frames, change nothing here.
//
// It owns the meaning of the counts and the form of the file. It must not know
// what a prompt, a tool or an output says, and keeps none of it.
package status
