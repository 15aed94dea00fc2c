package rewrite

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// turn is what is known of the turn that a session runs.
type turn struct {
	something bool   // a text, a thought or a tool has come
	head      []byte // how its last message begins
	after     int    // bytes of the message beyond the head

	said  []byte // all text so far, for cumulative-resend
	since int    // where the last message begins in it
	full  bool   // said would have become too long, and is not kept

	titles map[string]string // of its tool calls, for tool-display
}

// headLimit is more than the longest beginning of an error text; errorLength is
// the longest text that counts as an error.
const (
	headLimit   = 96
	errorLength = 8 << 10
)

// failures are the beginnings of the texts that a failed turn ends with, and what
// they mean (see the seed, and reports of later builds).
var failures = []struct{ begins, means string }{
	{"Agent execution error: ", "agent-error"},
	{"The MCP server '", "mcp"},
	{"Usage Limit Reached", "usage-limit"},
	{"Browser automation could not start (", "browser"},
	{"Agent connection was lost and could not be re-established: ", "connection"},
}

func turnBegins(r *Rewriter, s *proxy.Step, _ *proxy.Message) {
	if sess := s.Session(); sess != nil {
		r.turns[sess] = &turn{head: make([]byte, 0, headLimit)}
		r.last = turnOf{}
	}
}

func (r *Rewriter) turn(s *proxy.Step) *turn {
	sess := s.Session()
	if len(r.turns) == 0 || sess == nil {
		return nil
	}
	if r.last.session != sess {
		r.last = turnOf{sess, r.turns[sess]}
	}
	return r.last.turn
}

// turnOf is what was looked up last: a chunk's rows ask for the same turn, and so do
// those of the next.
type turnOf struct {
	session *proxy.Session
	turn    *turn
}

// turnSays follows how a turn's last message begins.
func turnSays(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	t := r.turn(s)
	if t == nil {
		return
	}
	l := r.look(m)
	switch {
	case l.kind == otherUpdate || l.text != nil && len(l.text) == 0:
		return
	case l.text == nil:
		// A thought, a tool, or an image: what comes then is another message.
		t.something, t.head, t.after = true, t.head[:0], 0
		return
	}
	t.something = true
	if meansFailure(l.text) != nil {
		t.head, t.after = t.head[:0], 0 // an error is a message of its own
	}
	n := min(len(l.text), headLimit-len(t.head))
	t.head = append(t.head, l.text[:n]...)
	t.after += len(l.text) - n
}

// meansFailure is the row of the failure that a text begins like.
func meansFailure(text []byte) *struct{ begins, means string } {
	if len(text) == 0 {
		return nil
	}
	for i := range failures {
		f := &failures[i]
		if text[0] == f.begins[0] && len(text) >= len(f.begins) && string(text[:len(f.begins)]) == f.begins {
			return f
		}
	}
	return nil
}

// turnEnds marks the result of a turn that failed without saying so.
func turnEnds(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	t := r.turn(s)
	if t == nil {
		return
	}
	delete(r.turns, s.Session())
	r.last = turnOf{}
	if !r.on["failed-turn"] || !m.Result.Found() || gjson.GetBytes(m.Text(m.Result), "stopReason").Str != "end_turn" {
		return
	}
	mark := ""
	if !t.something {
		mark = `{"failed":"blank"}`
	} else if f := meansFailure(t.head); f != nil && t.after < errorLength {
		mark = `{"failed":` + wire.Quote(f.means) + `,"text-begins":` + wire.Quote(f.begins) + `}`
	}
	if mark == "" {
		return
	}
	meta, ok := m.At(m.Result, "_meta")
	switch {
	case !ok:
		m.Add(m.Result, "_meta", `{"acp-shim":`+mark+`}`)
	case isNull(m, meta):
		m.Set(meta, `{"acp-shim":`+mark+`}`)
	default:
		m.Add(meta, "acp-shim", mark)
	}
}

// The leaked text, in the spellings that were seen and those between.
var (
	leakEnd   = []byte(" by the client.")
	leakTexts = []string{
		"context canceledThe request was canceled by the client.",
		"context cancelledThe request was cancelled by the client.",
		"context canceledThe request was cancelled by the client.",
		"context cancelledThe request was canceled by the client.",
	}
)

// leakedCancel takes the leaked text out. The two sentences without a space
// between them are the server's; either of them alone may be somebody's words.
func leakedCancel(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	text := r.look(m).text
	if !bytes.HasSuffix(text, leakEnd) {
		return
	}
	for _, leak := range leakTexts {
		if !bytes.HasSuffix(text, []byte(leak)) {
			continue
		}
		if len(text) == len(leak) {
			s.Drop("leaked text of a cancel")
			r.seen = look{bytes: m.Raw} // for the other rows it was not said
			return
		}
		if at, ok := textAt(m); ok {
			m.Splice(at.End-1-len(leak), len(leak), "")
		}
		return
	}
}

// textAt is where a chunk's text stands, false where any member on the way is
// given twice.
func textAt(m *proxy.Message) (proxy.Span, bool) {
	return m.At(m.Params, "update", "content", "text")
}

// saidLimit bounds the text that is kept of a turn.
const saidLimit = 1 << 20

// cumulativeResend cuts a chunk that begins with all text so far, of the turn or
// of its last message. Somebody may well repeat something short, or draw a long
// line: so the repeated text must be of some length, and of several letters.
func cumulativeResend(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	t := r.turn(s)
	if t == nil || t.full {
		return
	}
	l := r.look(m)
	switch l.kind {
	case thoughtChunk, toolUpdate:
		t.since = len(t.said)
	}
	text := l.text
	if text == nil {
		return
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		at, ok := textAt(m)
		if !ok {
			return
		}
		text = []byte(m.String(at))
	}
	fresh := text
	for _, all := range [][]byte{t.said, t.said[t.since:]} {
		if len(text) > len(all) && repeats(all) && bytes.HasPrefix(text, all) {
			fresh = text[len(all):]
			break
		}
	}
	if len(t.said)+len(fresh) > saidLimit {
		t.said, t.since, t.full = nil, 0, true
	} else {
		t.said = append(t.said, fresh...)
	}
	if len(fresh) == len(text) {
		return
	}
	if at, ok := textAt(m); ok {
		m.Set(at, wire.Quote(string(fresh)))
	}
}

// repeats tells that a text is enough for its repetition to be no accident.
func repeats(text []byte) bool {
	const length, letters = 8, 5
	if len(text) < length {
		return false
	}
	var seen [256]bool
	n := 0
	for _, c := range text[:min(len(text), 256)] {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n >= letters
}

// oneLine tells that a text could be a title.
func oneLine(text string) bool { return len(text) <= 200 && !strings.Contains(text, "\n") }
