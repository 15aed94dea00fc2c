package probe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"acp-shim/internal/client"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
	"acp-shim/record"
	"acp-shim/usage"
)

// tape numbers all lines of all processes as the capture does, hands them to it,
// and notes what the gates about all frames ask for.
type tape struct {
	secret string

	mu    sync.Mutex
	tap   proxy.Tap
	seq   uint64
	bytes int64      // handed to the tap
	usage []sighting // the first places of figures of tokens
	noise []Proof    // the first lines on stdout that are no message
	noisy int
	lines int // of agents
}

// sighting is a figure of tokens in a frame.
type sighting struct {
	frame, path string
	proof       Proof
}

const (
	maxSightings = 16
	// maxLooked is the longest line that is looked into for figures.
	maxLooked = 1 << 20
)

// line takes a line of a process's and returns its seq.
func (t *tape) line(gen int, l client.Line) uint64 {
	from, to := proxy.AgentPeer(gen), proxy.Client
	if l.Sent {
		from, to = to, from
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	if t.takes(len(l.Bytes)) {
		t.tap.Frame(&proxy.Frame{From: from, To: to, Bytes: l.Bytes})
	}
	if !l.Sent {
		t.lines++
		t.look(gen, l.Bytes)
	}
	return t.seq
}

func (t *tape) look(gen int, line []byte) {
	var m wire.Message
	m.Parse(line)
	switch m.Kind {
	case wire.Blank, wire.Noise:
		t.noisy++
		if len(t.noise) < 3 {
			t.noise = append(t.noise, Proof{t.seq, agentName(gen), t.quote(line)})
		}
		return
	case wire.Request, wire.Notification, wire.Response:
	default:
		return
	}
	if len(line) > maxLooked {
		return
	}
	body, frame := m.Text(m.Result), "an answer"
	if m.Method != "" {
		body, frame = m.Text(m.Params), m.Method
	}
	parsed := gjson.ParseBytes(body)
	if kind := parsed.Get("update.sessionUpdate").Str; kind != "" {
		frame = kind
	}
	numbers := usage.Find(parsed)
	// A usage_update has its figures under names that say nothing.
	if used := parsed.Get("update.used"); len(numbers) == 0 && frame == "usage_update" && used.Type == gjson.Number {
		numbers = append(numbers, usage.Number{Path: ".update.used", Value: used.Num})
	}
	for _, n := range numbers {
		s := sighting{frame: clip(frame, 60), path: clip(strings.TrimPrefix(n.Path, "."), 60)}
		if len(t.usage) < maxSightings && !slices.ContainsFunc(t.usage, s.same) {
			s.proof = Proof{t.seq, agentName(gen), t.quote(line)}
			t.usage = append(t.usage, s)
		}
	}
}

// same tells a place that figures were seen in before.
func (s sighting) same(o sighting) bool { return s.frame == o.frame && s.path == o.path }

// event notes what happened beside the lines.
func (t *tape) event(kind string, gen int, text string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	if t.takes(len(text)) {
		t.tap.Event(&proxy.Event{Kind: kind, Agent: gen, Text: text})
	}
	return t.seq
}

// maxTape is how much goes into a capture. An agent that floods must not fill the
// disk.
const maxTape = 512 << 20

// takes reports whether the tap gets what comes now.
func (t *tape) takes(n int) bool {
	if t.tap == nil {
		return false
	}
	if t.bytes += int64(n); t.bytes > maxTape {
		t.tap.Event(&proxy.Event{Kind: "note", Text: fmt.Sprintf("the capture ends here: more than %d MiB were said", maxTape>>20)})
		t.tap = nil
		return false
	}
	return true
}

// quoted is how much of a line a proof has.
const quoted = 240

// quote is a line as a report may have it: without secrets, and shortened.
func (t *tape) quote(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	if len(bytes.TrimSpace(line)) == 0 {
		return "(a blank line)"
	}
	if len(line) > 256<<10 {
		// What would be cut off is not worth the time that a search of it takes.
		var m wire.Message
		m.Parse(line)
		return fmt.Sprintf(`{"id":%s,"method":%q} (%d bytes)`, clip(string(m.Text(m.ID)), 40), clip(m.Method, 60), len(line))
	}
	line = t.withoutToken(line)
	text := strings.ToValidUTF8(string(record.Redact(line)), "\ufffd")
	return clip(text, quoted)
}

func (t *tape) withoutToken(b []byte) []byte {
	if t.secret == "" {
		return b
	}
	return bytes.ReplaceAll(b, []byte(t.secret), []byte(record.Marker))
}

// words are text of an agent's as a line of a report may have it: without secrets,
// without control characters, and shortened.
func (t *tape) words(text string, n int) string {
	text = text[:min(len(text), 64<<10)] // more is not shown of anything
	return clip(tidy(string(record.RedactText(t.withoutToken([]byte(text))))), n)
}

// clip shortens a text to about n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func agentName(gen int) string { return fmt.Sprintf("agent#%d", gen) }
