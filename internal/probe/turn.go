package probe

import (
	"context"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/client"
	"acp-shim/internal/wire"
)

// turn is a prompt that was sent.
type turn struct {
	t    *trial
	p    *peer
	id   string
	call *client.Call
	// ended is set once it is answered.
	answer client.Answer
}

func textBlock(text string) string { return `{"type":"text","text":` + wire.Quote(text) + `}` }

// prompt begins a turn.
func (t *trial) prompt(p *peer, id, text string) *turn { return t.promptBlocks(p, id, textBlock(text)) }

func (t *trial) promptBlocks(p *peer, id string, blocks ...string) *turn {
	call := p.conn.Request("session/prompt", `{"sessionId":`+wire.Quote(id)+`,"prompt":[`+strings.Join(blocks, ",")+`]}`)
	return &turn{t: t, p: p, id: id, call: call}
}

// wait waits for the turn's end, which may be an error.
func (u *turn) wait() client.Answer {
	u.answer = u.t.await(u.p, u.call, u.t.opt.Turn)
	return u.answer
}

// finish waits for the end of a turn that has to end well, and returns what was
// said.
func (u *turn) finish() string {
	a := u.wait()
	switch {
	case a.Error.Exists():
		u.t.prove(u.p, u.call.Index, a.Index)
		u.t.fail("the prompt was answered with %s", describe(a.Error))
	case a.Result.Get("stopReason").Str != "end_turn":
		u.t.prove(u.p, u.call.Index, a.Index)
		u.t.fail("the turn ended with %q instead of end_turn", clip(a.Result.Get("stopReason").Str, 40))
	}
	return u.said()
}

// tell is a whole turn.
func (t *trial) tell(p *peer, id, text string) string { return t.prompt(p, id, text).finish() }

// update is one of the turn's session updates.
type update struct {
	index int
	at    time.Time
	kind  string
	body  gjson.Result
}

// updates are those of the session from a line on to another one; to < 0 is to
// the end of what has come.
func (p *peer) updates(id string, from, to int) []update {
	var list []update
	for _, l := range p.conn.Lines(from) {
		if to >= 0 && l.Index >= to {
			break
		}
		if l.Sent {
			continue
		}
		var m wire.Message
		m.Parse(l.Bytes)
		if m.Method != "session/update" || string(m.Session) != id {
			continue
		}
		body := gjson.GetBytes(m.Text(m.Params), "update")
		list = append(list, update{l.Index, l.At, body.Get("sessionUpdate").Str, body})
	}
	return list
}

// updates are the turn's, up to its answer where that has come.
func (u *turn) updates() []update {
	to := -1
	if u.answer.Line != nil {
		to = u.answer.Index
	}
	return u.p.updates(u.id, u.call.Index, to)
}

// said is the text of the turn's message chunks.
func (u *turn) said() string { return chunks(u.updates(), "agent_message_chunk") }

func chunks(list []update, kind string) string {
	var b strings.Builder
	for _, x := range list {
		if x.kind == kind {
			b.WriteString(x.body.Get("content.text").Str)
		}
	}
	return b.String()
}

// until waits for a line of the agent's in this turn. It reports false where the
// turn, or the patience of one, is over before.
func (u *turn) until(ok func(m *wire.Message) bool) (client.Line, bool) {
	return u.within(u.t.opt.Turn, ok)
}

// within is until with a patience of its own.
func (u *turn) within(patience time.Duration, ok func(m *wire.Message) bool) (client.Line, bool) {
	ctx, cancel := u.t.within(patience)
	defer cancel()
	ended, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-u.call.Done():
			stop()
		case <-ended.Done():
		}
	}()
	test := func(l client.Line) bool {
		var m wire.Message
		m.Parse(l.Bytes)
		return ok(&m)
	}
	l, err := u.p.conn.WaitLine(ended, u.call.Index, test)
	if err != nil {
		// It may have come with the answer.
		past, cancel := context.WithCancel(context.Background())
		cancel()
		l, err = u.p.conn.WaitLine(past, u.call.Index, test)
	}
	return l, err == nil
}

func isUpdate(kinds ...string) func(m *wire.Message) bool {
	return func(m *wire.Message) bool {
		if m.Method != "session/update" {
			return false
		}
		got := gjson.GetBytes(m.Text(m.Params), "update.sessionUpdate").Str
		for _, k := range kinds {
			if got == k {
				return true
			}
		}
		return false
	}
}

func isAsked(m *wire.Message) bool { return m.Method == "session/request_permission" }

// isWorking is a tool that runs.
func isWorking(m *wire.Message) bool {
	return isUpdate("tool_call", "tool_call_update")(m) && gjson.GetBytes(m.Text(m.Params), "update.status").Str == "in_progress"
}

// tool is a tool call as its frames add up.
type tool struct {
	id, title, kind    string
	status             string
	statuses           []string
	content            []string // types of content
	locations          bool
	rawInput, rawOut   string
	diff               bool
	begun              bool // by a tool_call
	first, final, last int  // indexes of its frames; final is -1 while there is none
	meta               string
}

// tools are the turn's tool calls, in their order.
func (u *turn) tools() []*tool {
	var list []*tool
	by := map[string]*tool{}
	for _, x := range u.updates() {
		if x.kind != "tool_call" && x.kind != "tool_call_update" {
			continue
		}
		id := x.body.Get("toolCallId").Str
		c := by[id]
		if c == nil {
			c = &tool{id: id, first: x.index, final: -1}
			by[id] = c
			list = append(list, c)
		}
		c.take(x)
	}
	return list
}

func (c *tool) take(x update) {
	c.last = x.index
	c.begun = c.begun || x.kind == "tool_call"
	if v := x.body.Get("title"); v.Exists() {
		c.title = v.Str
	}
	if v := x.body.Get("kind"); v.Exists() {
		c.kind = v.Str
	}
	if v := x.body.Get("status").Str; v != "" && v != c.status {
		c.status = v
		c.statuses = append(c.statuses, v)
	}
	if c.status == "completed" || c.status == "failed" {
		c.final = x.index
	}
	for _, part := range x.body.Get("content").Array() {
		kind := part.Get("type").Str
		c.diff = c.diff || kind == "diff" && part.Get("path").Exists() && part.Get("newText").Exists()
		if len(c.content) < 8 {
			c.content = append(c.content, kind)
		}
	}
	c.locations = c.locations || len(x.body.Get("locations").Array()) > 0
	if v := x.body.Get("rawInput"); v.Exists() {
		c.rawInput = v.Raw
	}
	if v := x.body.Get("rawOutput"); v.Exists() {
		c.rawOut = v.Raw
	}
	if v := x.body.Get("_meta"); v.Exists() {
		c.meta = v.Raw
	}
}
