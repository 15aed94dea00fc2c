package exchange

import (
	"bytes"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Exporter takes the records of a capture in their order, and then its end.
type Exporter interface {
	Add(r *trace.Record) error
	End() error
}

// Side is an end of the wire.
type Side uint8

const (
	Client Side = iota
	Agent
)

func (s Side) String() string { return [...]string{"client", "agent"}[s] }

// Wire says which frames are wanted, and how.
type Wire struct {
	// At is the end at which they crossed: between client and shim, or between
	// shim and agent.
	At Side
	// OnlyFrom leaves one direction; Both has none left out.
	OnlyFrom Side
	Both     bool
	// Raw leaves in what looks like a secret.
	Raw bool
}

// Crossed is the line of a frame as it crossed the wire at one end, with its line
// end, and by whom of the two it was sent.
type Crossed struct {
	From Side
	// Process is the agent process at that end, 0 at the client's.
	Process int
	Line    []byte
}

// Of tells whether a record has crossed there. What the shim held crossed the
// client's end when it came, and the agent's when it was sent on.
func (w Wire) Of(r *trace.Record) (c Crossed, ok bool) {
	if !r.IsFrame() {
		return c, false
	}
	switch {
	case w.At == Client && r.From == proxy.Client:
		if ok = !r.Again; ok {
			c = Crossed{From: Client, Line: r.Received()}
		}
	case w.At == Client && r.To == proxy.Client:
		c, ok = Crossed{From: Agent, Line: r.Sent()}, true
	case w.At == Agent && r.From.Gen() > 0:
		if ok = !r.Again; ok {
			c = Crossed{From: Agent, Process: r.From.Gen(), Line: r.Received()}
		}
	case w.At == Agent && r.To.Gen() > 0:
		c, ok = Crossed{From: Client, Process: r.To.Gen(), Line: r.Sent()}, true
	}
	if !ok || !w.Both && c.From != w.OnlyFrom {
		return Crossed{}, false
	}
	c.Line = w.clean(c.Line)
	return c, true
}

func (w Wire) clean(line []byte) []byte {
	if w.Raw {
		return line
	}
	body := bytes.TrimRight(line, "\r\n")
	if clean := record.Redact(body); !bytes.Equal(clean, body) {
		return append(bytes.Clone(clean), line[len(body):]...)
	}
	return line
}
