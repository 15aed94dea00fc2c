package exchange

import (
	"bytes"
	"io"

	"acp-shim/internal/trace"
)

// Plain writes frames as they crossed the wire, one behind the other.
type Plain struct {
	Wire Wire
	Out  io.Writer
}

// Add writes a frame. One that the stream's end has cut off gets a line end: other
// frames may follow.
func (p *Plain) Add(r *trace.Record) error {
	c, ok := p.Wire.Of(r)
	if !ok {
		return nil
	}
	if !bytes.HasSuffix(c.Line, []byte("\n")) {
		c.Line = append(bytes.Clone(c.Line), '\n')
	}
	_, err := p.Out.Write(c.Line)
	return err
}

// End has nothing left to do.
func (p *Plain) End() error { return nil }
