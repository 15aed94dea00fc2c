// Package wire knows what a line of newline-delimited JSON-RPC 2.0 looks like,
// and nothing of what its methods mean.
//
// It owns three things: a [Reader] that cuts a byte stream into lines and
// never changes a byte of them, a [Message] that finds the few fields the
// shim decides by in one pass and without copying, and splicing, the only way
// in which a frame is ever changed: the bytes that must change are replaced
// and all others keep their place, order, spacing and spelling.
//
// It must not know sessions, agents or quirks, and it does no I/O of its own.
package wire
