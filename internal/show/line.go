package show

import (
	"encoding/json"
	"fmt"
	"strings"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Agent is the name of an agent process in a capture.
func Agent(gen int) string { return fmt.Sprintf("agent#%d", gen) }

// Line is a record as programs get it: what its kind has no use for is left out.
type Line struct {
	Kind string `json:"kind"`
	File string `json:"file,omitempty"`
	Run  int    `json:"run"`
	Seq  uint64 `json:"seq,omitempty"`
	// T is in nanoseconds since the start of the run.
	T       int64  `json:"t"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Lost    bool   `json:"nobody,omitempty"` // nobody received it
	Why     string `json:"why,omitempty"`
	Again   bool   `json:"again,omitempty"`
	Method  string `json:"method,omitempty"`
	Update  string `json:"update,omitempty"`
	ID      string `json:"id,omitempty"` // its text, a string with its quotes
	Session string `json:"session,omitempty"`
	// Request is the seq of the request that a response answers, Took the
	// nanoseconds that it took; Prompt is the seq of the turn's prompt.
	Request  uint64 `json:"request,omitempty"`
	Took     int64  `json:"took,omitempty"`
	Prompt   uint64 `json:"prompt,omitempty"`
	Replayed bool   `json:"replayed,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
	Code     int64  `json:"code,omitempty"`
	Message  string `json:"message,omitempty"`
	// Changed is what the shim changed.
	Changed []Change `json:"changed,omitempty"`
	Bytes   int      `json:"bytes,omitempty"`

	Event string          `json:"event,omitempty"`
	Agent int             `json:"agent,omitempty"`
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`

	Header *record.Header  `json:"header,omitempty"`
	Gist   string          `json:"gist,omitempty"`
	Match  *Found          `json:"match,omitempty"`
	Frame  json.RawMessage `json:"frame,omitempty"`
}

// Change is one thing that the shim changed in a frame.
type Change struct {
	At  int    `json:"at"`
	Old string `json:"old"`
	New string `json:"new"`
}

// NewLine is the line of a record, with the frame itself if it is wanted whole.
func NewLine(r *trace.Record, whole bool) Line {
	l := Line{Kind: r.Kind.String(), Run: r.Run, Seq: r.Seq, T: int64(r.T), Method: r.Method, Update: r.Update, ID: r.ID,
		Session: r.Session, Took: int64(r.Took), Replayed: r.Replayed, Failed: r.Failed, Code: r.Code, Message: r.Message,
		Why: r.Why, Again: r.Again, Gist: Begin(Gist(r), head)}
	if r.Request != nil {
		l.Request = r.Request.Seq
	}
	if r.Prompt != nil {
		l.Prompt = r.Prompt.Seq
	}
	switch r.Kind {
	case trace.Header:
		l.Header = r.Header
		return l
	case trace.Event:
		l.Event, l.Agent, l.Text, l.Data = r.Event, r.Process(), string(r.Text), r.Data
		return l
	}
	l.From, l.To, l.Lost = Peer(r.From), Peer(Receiver(r)), Receiver(r) == proxy.Nobody
	l.Bytes = len(r.Pre) + len(r.Body) + len(r.Post)
	for _, e := range r.Edits {
		l.Changed = append(l.Changed, Change{e.At, e.Old, e.New})
	}
	switch {
	case !whole:
	case r.JSON:
		l.Frame = r.Body
	default:
		l.Text = string(r.Body)
	}
	return l
}

// Receiver is who got a frame. What answers the shim's own request is the
// shim's: a capture has only what leaves the shim as received.
func Receiver(r *trace.Record) proxy.Peer {
	if r.To == proxy.Nobody && r.Kind == trace.Response &&
		(r.Request != nil && r.Request.From == proxy.Shim || r.Why == "answers the shim") {
		return proxy.Shim
	}
	return r.To
}

// Changes says in a few words what the shim changed in a frame, not clean.
func Changes(r *trace.Record) string {
	var l list
	for _, e := range r.Edits {
		before, after := Begin(strings.Trim(e.Old, ", "), 80), Begin(strings.Trim(e.New, ", "), 80)
		switch {
		case e.Old == "":
			l.add("+ " + after)
		case e.New == "":
			l.add("- " + before)
		default:
			l.add(before + " → " + after)
		}
	}
	return strings.Join(l, "; ")
}
