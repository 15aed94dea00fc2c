package exchange

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"acp-shim/internal/trace"
)

// Count is what an [Inspector]'s header says of what follows, which must be known
// before.
type Count struct {
	Wire    Wire
	Frames  int
	Dropped uint64 // frames that the capture lost
}

// Add counts a record.
func (c *Count) Add(r *trace.Record) error {
	if _, ok := c.Wire.Of(r); ok {
		c.Frames++
	}
	if g, ok := r.Gap(); ok {
		c.Dropped += g.Frames
	}
	return nil
}

// End has nothing left to do.
func (c *Count) End() error { return nil }

// Inspector writes the trace of acp-inspector, version 1. A connection is a run of
// the shim, and at the agent's end a process.
type Inspector struct {
	Count Count
	Out   io.Writer
	// Now is when the trace was taken.
	Now time.Time

	headed      bool
	start       time.Time
	connections map[[2]int]int
	run         int
}

type inspectorHeader struct {
	Type    string `json:"type"`
	Format  string `json:"format"`
	Version int    `json:"version"`
	At      int64  `json:"at"`
	Frames  int    `json:"frames"`
	Dropped uint64 `json:"dropped"`
	Warning string `json:"warning"`
}

type inspectorFrame struct {
	Type       string `json:"type"`
	At         int64  `json:"at"`
	Connection int    `json:"connection"`
	Direction  string `json:"direction"`
	Encoding   string `json:"encoding"`
	Frame      string `json:"frame"`
}

const inspectorFormat = "acp-inspector-trace"

// ways are the directions as acp-inspector spells them.
var ways = [...]string{Client: "client -> agent", Agent: "agent -> client"}

// Add writes a frame.
func (x *Inspector) Add(r *trace.Record) error {
	if err := x.header(); err != nil {
		return err
	}
	if r.Header != nil {
		x.start = r.Header.Start
	}
	c, ok := x.Count.Wire.Of(r)
	if !ok {
		return nil
	}
	line := bytes.TrimSuffix(c.Line, []byte("\n"))
	f := inspectorFrame{Type: "frame", At: x.start.Add(r.T).UnixMilli(), Connection: x.connection(r.Run, c.Process),
		Direction: ways[c.From], Encoding: "utf8", Frame: string(line)}
	if !utf8.Valid(line) {
		f.Encoding, f.Frame = "base64", base64.StdEncoding.EncodeToString(line)
	}
	return writeJSON(x.Out, &f)
}

// connection numbers connections as they come. Of a run that is over no more
// frames come.
func (x *Inspector) connection(run, process int) int {
	if x.connections == nil {
		x.connections = map[[2]int]int{}
	}
	key := [2]int{run, process}
	n, ok := x.connections[key]
	if !ok {
		n = x.run + 1
		x.run = n
		for k := range x.connections {
			if k[0] != run {
				delete(x.connections, k)
			}
		}
		x.connections[key] = n
	}
	return n
}

// header is written once, before the first frame, or of none.
func (x *Inspector) header() error {
	if x.headed {
		return nil
	}
	x.headed = true
	warning := "ACP frames may contain prompts, file contents, and tool output; what looked like a secret is redacted"
	if x.Count.Wire.Raw {
		warning = "ACP frames may contain prompts, file contents, and tool output; nothing is redacted"
	}
	return writeJSON(x.Out, &inspectorHeader{Type: "header", Format: inspectorFormat, Version: 1, At: x.Now.UnixMilli(),
		Frames: x.Count.Frames, Dropped: x.Count.Dropped, Warning: warning})
}

// End writes what there is to say of a capture without frames.
func (x *Inspector) End() error { return x.header() }

// writeJSON writes a value on a line.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
