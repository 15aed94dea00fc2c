package trace

import (
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// Turn is a prompt and what came of it. Times count from the run's start.
type Turn struct {
	Run     int
	Session string
	Prompt  *Origin
	// Sent is when an agent got the prompt, which may have waited.
	Sent time.Duration
	// First is when the first chunk of the agent's message came, 0 for none.
	First time.Duration
	// End is when the prompt was answered; it is 0 for a turn that is cut off
	// by the end of the capture.
	End time.Duration
	// Stop is the stopReason, "" for an error, whose text is in Failure.
	Stop, Failure string

	// Chunks counts the chunks of message and thought, Bytes the bytes of
	// their text.
	Chunks, Bytes int
	// Gaps are the times between one chunk and the next, as far as they are
	// kept: the first MaxGaps, and LongestGap of all.
	Gaps       []time.Duration
	LongestGap time.Duration
	LastChunk  time.Duration
	// Streamed is the time from the first chunk to the last: all gaps together.
	Streamed time.Duration

	Tools []Tool
	Waits []Wait
}

// Tool is a tool call of a turn.
type Tool struct {
	ID, Title, Kind, Status string
	Start, End              time.Duration // End is 0 while it is open
}

// Wait is the time that an agent's request waited for the client, a
// permission above all.
type Wait struct {
	Method     string
	Start, End time.Duration
}

const (
	// MaxGaps bounds the gaps that a turn keeps, maxTools the tools and waits.
	MaxGaps  = 4096
	maxTools = 4096
)

// Took is the time from the prompt to its answer.
func (t *Turn) Took() time.Duration { return t.End - t.Prompt.T }

// Turns follows the turns of a capture.
type Turns struct {
	open map[*Origin]*Turn
}

// Add takes the next record. It returns the turn that it belongs to, nil for none,
// and whether that is over with it.
func (ts *Turns) Add(r *Record) (t *Turn, over bool) {
	if ts.open == nil || r.Kind == Header && !r.Continued {
		ts.open = map[*Origin]*Turn{}
	}
	if r.Prompt == nil {
		return nil, false
	}
	t = ts.open[r.Prompt]
	if t == nil {
		t = &Turn{Run: r.Run, Session: r.Session, Prompt: r.Prompt}
		ts.open[r.Prompt] = t
	}
	switch {
	case r.Kind == Request && r.From.Gen() == 0 && r.Method == acp.AgentMethodSessionPrompt && r.To.Gen() > 0:
		t.Sent = r.T
	case r.Kind == Response && r.Request == r.Prompt:
		if !r.Delivered() {
			return t, false
		}
		t.ended(r)
		delete(ts.open, r.Prompt)
		return t, true
	case r.Kind == Response && r.Request != nil && r.Request.From.Gen() > 0:
		t.wait(r)
	case r.Kind == Notification && r.Update != "" && r.Delivered():
		t.update(r)
	}
	return t, false
}

// Open are the turns that the capture's end has cut off.
func (ts *Turns) Open() []*Turn {
	var list []*Turn
	for _, t := range ts.open {
		list = append(list, t)
	}
	return list
}

func (t *Turn) ended(r *Record) {
	t.End = r.T
	if r.Failed {
		t.Failure = r.Message
	} else {
		t.Stop = gjson.GetBytes(r.Body, "result.stopReason").Str
	}
}

func (t *Turn) wait(r *Record) {
	if len(t.Waits) < maxTools {
		t.Waits = append(t.Waits, Wait{Method: r.Request.Method, Start: r.Request.T, End: r.T})
	}
}

func (t *Turn) update(r *Record) {
	u := gjson.GetBytes(r.Body, "params.update")
	switch r.Update {
	case "agent_message_chunk", "agent_thought_chunk":
		t.Chunks++
		t.Bytes += len(u.Get("content.text").Str)
		if r.Update == "agent_message_chunk" && t.First == 0 {
			t.First = r.T
		}
		if t.LastChunk > 0 {
			gap := r.T - t.LastChunk
			t.LongestGap = max(t.LongestGap, gap)
			t.Streamed += gap
			if len(t.Gaps) < MaxGaps {
				t.Gaps = append(t.Gaps, gap)
			}
		}
		t.LastChunk = r.T
	case "tool_call", "tool_call_update":
		t.tool(r, u)
	}
}

func (t *Turn) tool(r *Record, u gjson.Result) {
	id := u.Get("toolCallId").String()
	var call *Tool
	for i := range t.Tools {
		if t.Tools[i].ID == id {
			call = &t.Tools[i]
		}
	}
	if call == nil {
		if len(t.Tools) >= maxTools {
			return
		}
		t.Tools = append(t.Tools, Tool{ID: id, Start: r.T})
		call = &t.Tools[len(t.Tools)-1]
	}
	for member, field := range map[string]*string{"title": &call.Title, "kind": &call.Kind, "status": &call.Status} {
		if v := u.Get(member); v.Type == gjson.String {
			*field = v.Str
		}
	}
	if call.End == 0 && (call.Status == "completed" || call.Status == "failed") {
		call.End = r.T
	}
}
