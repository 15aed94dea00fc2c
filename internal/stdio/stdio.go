// Package stdio takes the process's own standard streams for the protocol.
//
// It owns how they are opened: without blocking where that harms nobody else,
// and out of reach of everything else in the process, so that no stray print
// can get between two frames. It must not know what goes through them.
package stdio

import "os"

// Streams are the client's ends of the protocol.
type Streams struct {
	In, Out *os.File
	// OutFD is Out's descriptor where a write to it never waits, else -1.
	OutFD int

	restore []func()
}

// Close gives the descriptors back the modes that they had, for whoever shares
// them.
func (s *Streams) Close() {
	for _, f := range s.restore {
		f()
	}
	s.restore = nil
}
