package record

import (
	"encoding/json"
	"fmt"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Header is the first line of a run.
type Header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Start   time.Time `json:"start"`
	// Shim is the version of the shim, PID its process.
	Shim     string `json:"shim"`
	PID      int    `json:"pid"`
	Redacted bool   `json:"redacted"`
	// MaxBlob is the longest base64 that was kept, 0 for any.
	MaxBlob int `json:"maxBlob,omitempty"`
	// Run is the run's name, Part the number of this file among those that it
	// was written to, from 1. Start, seqs and times of all parts are one run's.
	Run   string      `json:"run,omitempty"`
	Part  int         `json:"part,omitempty"`
	Agent AgentHeader `json:"agent"`
}

// Continues reports whether h is the header of the part that follows the one with
// the header before, nil for none: then what follows is not a new run, and what
// was open before is open still.
func (h *Header) Continues(before *Header) bool {
	return before != nil && h.Run != "" && h.Run == before.Run && h.Part == before.Part+1
}

// AgentHeader is what a header says about the agent. Info is what the agent has
// said of itself, agentInfo; that of a run's first part stands in the frame that
// answers initialize, unless the writer was given some.
type AgentHeader struct {
	Name string          `json:"name,omitempty"`
	Argv []string        `json:"argv,omitempty"`
	Info json.RawMessage `json:"info,omitempty"`
}

// Entry is one line of a capture: a header, a frame or an event. It owns all
// its bytes and may be kept.
type Entry struct {
	// Line is its number in the file, from 1.
	Line int
	// Header is set for a header and only for one; nothing else is set then.
	Header *Header

	// Seq counts frames and events of a run from 1; T is the time since its
	// start.
	Seq uint64
	T   time.Duration

	// Event is what happened, "" for a frame. "gap" and "end" are the
	// writer's own.
	Event string

	// From and To are a frame's edge. To is proxy.Nobody where nobody
	// received it.
	From, To proxy.Peer
	// JSON tells that Body is one JSON value; else it is a line that is none.
	JSON bool
	// Pre, Body and Post, one behind the other, are the line as it was sent:
	// white space, what stands between, white space with the line end.
	Pre, Body, Post []byte
	// Edits are what the shim changed in that line. Their offsets count from
	// the beginning of Pre.
	Edits []proxy.Edit
	// Why says why a frame was dropped, held or made by the shim, "" for one
	// that was forwarded as a matter of course.
	Why string
	// Again tells that the line was reported before, when it was held, and was
	// received then.
	Again bool

	// Agent, Session, Text and Data are about an event: the process, 0 for
	// none, the session, "" for none, a message or a line of stderr, and a JSON
	// value or nil.
	Agent   int
	Session string
	Text    []byte
	Data    json.RawMessage
}

// IsFrame reports whether the entry is a frame.
func (e *Entry) IsFrame() bool { return e.Header == nil && e.Event == "" }

// Sent is a frame's line as it was sent, with its line end. Where nobody
// received it, it is the line as it would have been sent.
func (e *Entry) Sent() []byte {
	line := make([]byte, 0, len(e.Pre)+len(e.Body)+len(e.Post))
	line = append(line, e.Pre...)
	line = append(line, e.Body...)
	return append(line, e.Post...)
}

// Received is a frame's line as it was received, with its line end. For a frame
// that the shim made it is the line as the shim made it first. In a redacted
// capture both are without their secrets.
//
// All lines of a raw capture that one peer sent, without those that are there
// Again, are the bytes that came from it; all that were sent To one peer are
// the bytes that went there, with a "\n" behind a line that has no end where
// another follows it: the shim puts one between.
func (e *Entry) Received() []byte {
	if len(e.Edits) == 0 {
		return e.Sent()
	}
	return wire.Undo(e.Sent(), e.Edits)
}

// Gap is what a capture does not have: how many frames and events, the
// bytes in them, and the first and last of their seqs. The seqs between are
// missing, too, but for those of lines that are there.
type Gap struct {
	Frames uint64 `json:"frames"`
	Events uint64 `json:"events"`
	Bytes  uint64 `json:"bytes"`
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	// Why says what kept them from being written.
	Why string `json:"why"`
}

// Gap is what a gap event says. It reports false for any other entry.
func (e *Entry) Gap() (g Gap, ok bool) {
	if e.Event != "gap" || json.Unmarshal(e.Data, &g) != nil {
		return Gap{}, false
	}
	return g, true
}

func (g *Gap) any() bool { return g.Frames > 0 || g.Events > 0 }

// add counts what is missing elsewhere, too.
func (g *Gap) add(more Gap) {
	if !more.any() {
		return
	}
	if !g.any() {
		g.First = more.First
	}
	g.First, g.Last = min(g.First, more.First), max(g.Last, more.Last)
	g.Frames += more.Frames
	g.Events += more.Events
	g.Bytes += more.Bytes
	if more.Why != "" {
		g.Why = more.Why
	}
}

// LineError says what is wrong with one line of a capture.
type LineError struct {
	// Line is its number, from 1.
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("capture line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }
