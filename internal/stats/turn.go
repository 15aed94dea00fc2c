package stats

import (
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/internal/trace"
	"acp-shim/usage"
)

// Turn is the figures of a turn. Times are nanoseconds in JSON; those that are 0
// are not known, or there was nothing.
type Turn struct {
	Run     int    `json:"run"`
	Session string `json:"session"`
	Seq     uint64 `json:"seq"` // of the prompt
	// At is when the prompt was answered by the clock of who recorded it, zero where
	// the capture does not say; Model is the session's model then, Build the
	// agent's name and version.
	At    time.Time `json:"at,omitzero"`
	Model string    `json:"model,omitempty"`
	Build string    `json:"build,omitempty"`
	// Start is when the client sent the prompt, Took the time to its answer.
	Start time.Duration `json:"start"`
	Took  time.Duration `json:"took"`
	// Waited is how long the prompt was held back.
	Waited time.Duration `json:"waited,omitempty"`
	// First is the time from the prompt to the first chunk of the message.
	First  time.Duration `json:"first,omitempty"`
	Chunks int           `json:"chunks"`
	Bytes  int           `json:"bytes"` // of their text
	// Rate is chunks in a second, from the first to the last.
	Rate float64 `json:"rate,omitempty"`
	// The gaps are those between one chunk and the next.
	GapP50 time.Duration `json:"gapP50,omitempty"`
	GapP99 time.Duration `json:"gapP99,omitempty"`
	GapMax time.Duration `json:"gapMax,omitempty"`
	// Tools is the time in which a tool call was open and nobody was asked for
	// a permission; Asked that in which the client was.
	ToolCalls int           `json:"toolCalls"`
	Tools     time.Duration `json:"tools,omitempty"`
	Asks      int           `json:"asks"`
	Asked     time.Duration `json:"asked,omitempty"`
	// Stop is the stopReason, Failure the message of the error in its place.
	Stop    string `json:"stop,omitempty"`
	Failure string `json:"failure,omitempty"`
	// CutOff tells of a turn that the capture does not see the end of.
	CutOff bool `json:"cutOff,omitempty"`
	// Usage is what the agent has reported in the turn.
	Usage *usage.Totals `json:"usage,omitempty"`
}

func newTurn(t *trace.Turn, cut bool, now time.Duration) Turn {
	end := t.End
	if cut {
		end = max(now, t.Prompt.T)
	}
	turn := Turn{Run: t.Run, Session: t.Session, Seq: t.Prompt.Seq, Start: t.Prompt.T, Took: end - t.Prompt.T,
		Chunks: t.Chunks, Bytes: t.Bytes, GapMax: t.LongestGap, ToolCalls: len(t.Tools),
		Stop: t.Stop, Failure: t.Failure, CutOff: cut}
	if t.Sent > t.Prompt.T {
		turn.Waited = t.Sent - t.Prompt.T
	}
	if t.First > 0 {
		turn.First = t.First - t.Prompt.T
	}
	if t.Streamed > 0 {
		turn.Rate = float64(t.Chunks-1) / t.Streamed.Seconds()
	}
	var gaps Quantile
	for _, g := range t.Gaps {
		gaps.Add(g)
	}
	turn.GapP50, turn.GapP99 = gaps.At(0.5), gaps.At(0.99)
	var tools, asked spans
	for _, x := range t.Tools {
		if x.End == 0 {
			x.End = end
		}
		tools = append(tools, span{x.Start, x.End})
	}
	for _, w := range t.Waits {
		if w.Method == acp.ClientMethodSessionRequestPermission {
			asked = append(asked, span{w.Start, w.End})
		}
	}
	turn.Asks = len(asked)
	turn.Asked = asked.total()
	turn.Tools = append(tools, asked...).total() - turn.Asked
	return turn
}

type span struct{ from, to time.Duration }

type spans []span

// total is the time that is in at least one of the spans.
func (list spans) total() (sum time.Duration) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b span) int { return int(a.from - b.from) })
	at := time.Duration(0)
	for _, s := range list {
		if from := max(s.from, at); s.to > from {
			sum += s.to - from
			at = s.to
		}
	}
	return sum
}

// Summary is the figures of all turns together.
type Summary struct {
	Turns  int
	CutOff int
	Stops  map[string]int // by stop reason, "error" for those that failed
	Took   Quantile
	First  Quantile
	Gaps   Quantile
	Tools  time.Duration
	Asked  time.Duration
	Chunks int64
	Bytes  int64
}

func (s *Summary) add(t *Turn, gaps []time.Duration) {
	s.Turns++
	if s.Stops == nil {
		s.Stops = map[string]int{}
	}
	switch {
	case t.CutOff:
		s.CutOff++
	case t.Failure != "" || t.Stop == "":
		s.Stops["error"]++
	case len(s.Stops) < 20 || s.Stops[t.Stop] > 0:
		s.Stops[t.Stop]++
	default:
		s.Stops["other"]++
	}
	if !t.CutOff {
		s.Took.Add(t.Took)
	}
	if t.First > 0 {
		s.First.Add(t.First)
	}
	for _, g := range gaps {
		s.Gaps.Add(g)
	}
	s.Tools += t.Tools
	s.Asked += t.Asked
	s.Chunks += int64(t.Chunks)
	s.Bytes += int64(t.Bytes)
}
