package trace

import (
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Kind is what a line of a capture is.
type Kind uint8

const (
	// Header begins a run.
	Header Kind = iota
	// Event is something that happened beside the frames.
	Event
	// Request wants an answer.
	Request
	// Notification wants none.
	Notification
	// Response answers a request.
	Response
	// Other is a line that is no single message: noise, a batch, half a line.
	Other
)

var kindNames = [...]string{"header", "event", "request", "notification", "response", "other"}

func (k Kind) String() string { return kindNames[k] }

// Record is a line of a capture with its meaning.
type Record struct {
	record.Entry
	// Run counts the headers that have come, so that ids, seqs and times of
	// several runs in one file are told apart.
	Run  int
	Kind Kind
	// Continued tells of a header that begins no run, but the next part of the
	// one before.
	Continued bool
	// Method is the method; a response has that of its request, "" where nobody
	// asked.
	Method string
	// ID is the text of the id as its sender wrote it, "" if there is none.
	ID string
	// Session is the session that the line is about, as the client calls it,
	// "" for none. That of session/new is known from its answer on.
	Session string
	// Update is params.update.sessionUpdate.
	Update string
	// Request is what a response answers, nil where nobody asked.
	Request *Origin
	// Took is the time from the request to this response.
	Took time.Duration
	// Failed tells of a response that is an error; Code and Message are its.
	Failed  bool
	Code    int64
	Message string
	// Replayed tells of an update that a load or resume repeats: it is history,
	// and no part of a turn.
	Replayed bool
	// Prompt is the prompt of the turn that a frame belongs to, nil outside of
	// one.
	Prompt *Origin
}

// Origin is a request as it is remembered until it is answered.
type Origin struct {
	Seq     uint64
	T       time.Duration
	From    proxy.Peer // who asked
	To      proxy.Peer // whom, as far as it had gone by then
	Method  string
	ID      string
	Session string
}

// Delivered tells that somebody received the frame.
func (r *Record) Delivered() bool { return r.To != proxy.Nobody }

// Agent is the process at either end of a frame, or that of an event; 0 for
// none.
func (r *Record) Process() int {
	if r.Kind == Event {
		return r.Entry.Agent
	}
	return max(r.From.Gen(), r.To.Gen())
}

func kindOf(k wire.Kind) Kind {
	switch k {
	case wire.Request:
		return Request
	case wire.Notification:
		return Notification
	case wire.Response:
		return Response
	}
	return Other
}
