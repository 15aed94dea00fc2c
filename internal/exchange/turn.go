package exchange

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
	"acp-shim/usage"
)

// turn is a turn with what was said in it, without secrets and cut to a bounded
// size.
type turn struct {
	*trace.Turn
	// process is the agent's that ran it, as far as one got the prompt.
	process int
	prompt  text
	answer  text
	thought text
	tools   []*tool
	asks    []*ask
	usage   usage.Totals
	// wrong are frames of what went wrong; more counts those that are not kept.
	wrong   []wrong
	more    int
	failure failure
}

// tool is a call of a turn; trace has its times.
type tool struct {
	seq           uint64
	id, name      string // name is that of an MCP tool, "" for others
	input, output text
}

// ask is a request in a turn, of the agent's or, beside the prompt, the client's.
type ask struct {
	seq        uint64
	from       Side
	method     string
	gist       string
	start, end time.Duration // end is 0 without an answer
	answer     string
	failure    failure
}

// failure is an error response.
type failure struct {
	is   bool
	code int64
	text string
}

// wrong is a frame that tells of something that went wrong, with the request that
// it answers, if any.
type wrong struct {
	seq            uint64
	what           string
	question, line []byte
}

// What a turn keeps at the most.
const (
	maxText  = 256 << 10
	maxPart  = 16 << 10 // of a tool's input or output, and of a frame
	maxAsks  = 4096
	maxAsked = 256
	maxAsk   = 4 << 10 // of a request that is remembered
	maxWrong = 50
	// maxKept is what all turns that are open keep together.
	maxKept = 64 << 20
)

// text is text that came in pieces.
type text struct {
	b    []byte
	left int // bytes that are not there
}

// conversation follows the turns of a capture with what was said in them.
type conversation struct {
	turns trace.Turns
	open  map[*trace.Turn]*turn
	kept  int
	// content tells whether what was said is kept.
	content bool
	// asked are the last requests without an answer by their seq, to be shown beside
	// an error; question is that of the record that was added last.
	asked    map[uint64][]byte
	question []byte
	// used is what each session has reported.
	used map[string]*usage.Session
}

// add takes the next record. It returns the turn that it belongs to, nil for none,
// and whether that is over with it.
func (c *conversation) add(r *trace.Record) (t *turn, over bool) {
	if c.open == nil || r.Kind == trace.Header && !r.Continued {
		c.open, c.kept, c.asked, c.used = map[*trace.Turn]*turn{}, 0, map[uint64][]byte{}, map[string]*usage.Session{}
	}
	c.remember(r)
	of, over := c.turns.Add(r)
	if of == nil {
		return nil, false
	}
	t = c.open[of]
	if t == nil {
		t = &turn{Turn: of}
		c.open[of] = t
	}
	if n := r.Process(); n > 0 {
		t.process = n
	}
	c.frame(t, r)
	if over {
		delete(c.open, of)
		c.kept -= t.size()
	}
	return t, over
}

// remember keeps a request until it is answered. A prompt is shown as such.
func (c *conversation) remember(r *trace.Record) {
	c.question = nil
	switch {
	case !c.content:
	case r.Kind == trace.Request && r.Method != acp.AgentMethodSessionPrompt && len(c.asked) < maxAsked:
		c.asked[r.Seq] = []byte(show.Begin(string(record.Redact(bytes.TrimSpace(r.Sent()))), maxAsk))
	case r.Kind == trace.Response && r.Request != nil:
		c.question = c.asked[r.Request.Seq]
		delete(c.asked, r.Request.Seq)
	}
}

// rest are the turns that the end of a run has cut off.
func (c *conversation) rest() []*turn {
	var list []*turn
	for _, of := range c.turns.Open() {
		if t := c.open[of]; t != nil {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *turn) int { return cmp.Compare(a.Prompt.Seq, b.Prompt.Seq) })
	return list
}

func (c *conversation) frame(t *turn, r *trace.Record) {
	if r.Kind == trace.Response && r.Request == r.Prompt || r.Update == "usage_update" {
		if said, ok := usage.Read(r.Body); ok {
			s := c.used[r.Session]
			if s == nil {
				s = &usage.Session{}
				c.used[r.Session] = s
			}
			t.usage.Add(said, s.Add(said, r.Process()))
		}
	}
	if show.Wrong(r) && r.IsFrame() {
		c.wrong(t, r)
	}
	switch {
	case r.Kind == trace.Request && r.Method == acp.AgentMethodSessionPrompt && r.From.Gen() == 0 && t.prompt.empty():
		for i, block := range gjson.GetBytes(r.Body, "params.prompt").Array() {
			if i > 0 {
				c.keep(&t.prompt, "\n", maxText)
			}
			c.keep(&t.prompt, content(block), maxText)
		}
	case r.Kind == trace.Request && r.From != proxy.Shim && !r.Again && r.Method != acp.AgentMethodSessionPrompt:
		c.ask(t, r)
	case r.Kind == trace.Response && r.Request == r.Prompt:
		if r.Delivered() {
			t.failure = failed(r)
		}
	case r.Kind == trace.Response && r.Request != nil && (r.Delivered() || r.From == proxy.Client):
		for _, a := range t.asks {
			if a.seq == r.Request.Seq {
				a.end, a.failure, a.answer = r.T, failed(r), answer(r)
			}
		}
	case r.Update != "" && r.Delivered():
		c.update(t, r)
	}
}

func (c *conversation) ask(t *turn, r *trace.Record) {
	if len(t.asks) >= maxAsks || !c.content {
		return
	}
	a := &ask{seq: r.Seq, method: show.Begin(r.Method, 200), start: r.T, gist: show.Begin(string(record.RedactText([]byte(show.Gist(r)))), 300)}
	if r.From.Gen() > 0 {
		a.from = Agent
	}
	t.asks = append(t.asks, a)
}

func failed(r *trace.Record) failure {
	if !r.Failed {
		return failure{}
	}
	return failure{is: true, code: r.Code, text: show.Begin(string(record.RedactText([]byte(r.Message))), 1000)}
}

// answer is what the client said to a permission request.
func answer(r *trace.Record) string {
	o := gjson.GetBytes(r.Body, "result.outcome")
	if id := o.Get("optionId"); id.Exists() {
		return show.Begin(id.String(), 100)
	}
	return show.Begin(o.Get("outcome").String(), 100)
}

func (c *conversation) update(t *turn, r *trace.Record) {
	u := gjson.GetBytes(r.Body, "params.update")
	switch r.Update {
	case "agent_message_chunk":
		c.keep(&t.answer, content(u.Get("content")), maxText)
	case "agent_thought_chunk":
		c.keep(&t.thought, content(u.Get("content")), maxText)
	case "tool_call", "tool_call_update":
		x := t.tool(u.Get("toolCallId").String())
		if x == nil {
			return
		}
		if x.seq == 0 {
			x.seq = r.Seq
		}
		// Where agy and others put the clean name of an MCP tool.
		if name := u.Get("_meta.mcp.tool").Str; name != "" {
			x.name = name
		}
		if in := u.Get("rawInput"); in.Exists() && x.input.empty() {
			c.keep(&x.input, in.Raw, maxPart)
		}
		if out := u.Get("rawOutput"); out.Exists() && x.output.empty() {
			c.keep(&x.output, out.Raw, maxPart)
		} else if out := u.Get("content.#.content.text"); len(out.Array()) > 0 && x.output.empty() {
			c.keep(&x.output, out.Raw, maxPart)
		}
	}
}

// tool is the call beside trace's.
func (t *turn) tool(id string) *tool {
	for _, x := range t.tools {
		if x.id == id {
			return x
		}
	}
	if len(t.tools) >= len(t.Tools) { // trace keeps no more
		return nil
	}
	x := &tool{id: id}
	t.tools = append(t.tools, x)
	return x
}

// content is a block as text.
func content(block gjson.Result) string {
	switch kind := block.Get("type").Str; kind {
	case "text":
		return block.Get("text").Str
	case "resource_link":
		return "[" + block.Get("uri").Str + "]"
	case "resource":
		return "[" + block.Get("resource.uri").Str + "]\n" + block.Get("resource.text").Str
	case "":
		return ""
	default:
		return "[" + kind + "]"
	}
}

func (c *conversation) wrong(t *turn, r *trace.Record) {
	if len(t.wrong) >= maxWrong || !c.content {
		t.more++
		return
	}
	line := record.Redact(bytes.TrimSpace(r.Sent()))
	w := wrong{seq: r.Seq, what: string(record.RedactText([]byte(show.Gist(r))))}
	var kept text
	c.keep(&kept, string(line), maxPart)
	if w.line = kept.b; kept.left > 0 {
		w.line = append(w.line, "…"...)
	}
	if c.question != nil && c.kept+len(c.question) <= maxKept {
		w.question = c.question
		c.kept += len(c.question)
	}
	t.wrong = append(t.wrong, w)
}

// keep adds to a text, as far as there is room.
func (c *conversation) keep(t *text, s string, limit int) {
	if !c.content {
		return
	}
	room := max(min(limit-len(t.b), maxKept-c.kept), 0)
	if t.left > 0 {
		room = 0 // no holes
	}
	n := len(s)
	if n > room {
		n = len(show.Begin(s, room)) - len("…")
	}
	t.b = append(t.b, s[:n]...)
	t.left += len(s) - n
	c.kept += n
}

func (t *text) empty() bool { return len(t.b) == 0 && t.left == 0 }

// String is the text without its secrets, also of one that came in two pieces.
func (t *text) String() string {
	s := string(record.RedactText(t.b))
	if t.left > 0 {
		s += "… (" + show.Bytes(int64(t.left)) + " more)"
	}
	return s
}

func (t *turn) size() int {
	n := len(t.prompt.b) + len(t.answer.b) + len(t.thought.b)
	for _, x := range t.tools {
		n += len(x.input.b) + len(x.output.b)
	}
	for _, w := range t.wrong {
		n += len(w.line) + len(w.question)
	}
	return n
}
