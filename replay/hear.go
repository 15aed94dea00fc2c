package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// read takes what the agent says, to its end.
func (d *driver) read(out io.Reader) {
	r := wire.NewReader(out, 0)
	for {
		batch, err := r.Next()
		for len(batch) > 0 {
			var line []byte
			line, batch = wire.Cut(batch)
			d.hear(line)
		}
		if _, long := wire.AsTooLong(err); err != nil && !long {
			d.mu.Lock()
			d.ended = err
			d.tell()
			d.mu.Unlock()
			return
		}
	}
}

func (d *driver) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *driver) hear(line []byte) {
	var m wire.Message
	m.Parse(line)
	if d.o.Frame != nil {
		d.writing.Lock()
		d.o.Frame(false, line)
		d.writing.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.tell()
	d.sum.Received++
	session := string(m.Session)
	if name, ok := d.live[session]; ok {
		session = name
	}
	switch m.Kind {
	case wire.Response:
		d.answered(&m)
	case wire.Request:
		d.sum.Asked++
		d.heard[session]++
		d.asks[session]++
		line, after, like := d.answers.to(d.s, &m, d.changes)
		if !like {
			d.sum.Unlike++
			after = d.sent
		}
		d.replies = append(d.replies, reply{after, line})
	case wire.Notification:
		d.heard[session]++
	}
}

func (d *driver) answered(m *wire.Message) {
	id := string(m.Text(m.ID))
	i, ok := d.waiting[id]
	if !ok {
		return
	}
	delete(d.waiting, id)
	d.order = slices.DeleteFunc(d.order, func(x int32) bool { return x == i })
	d.sum.Answered++
	it := d.s.items.at(i)
	if m.Error.Found() && it.link >= 0 {
		if line, err := d.s.line(it.link); err == nil {
			var was wire.Message
			if was.Parse(line); !was.Error.Found() {
				d.sum.Failed++
			}
		}
	}
	if !makesSession(it.method) {
		return
	}
	made, now := d.s.blocks[it.block].made, gjson.GetBytes(m.Text(m.Result), "sessionId").Str
	if made == nowhere || now == "" {
		return
	}
	d.live[now] = made
	if c := newSession(made, now); c != nil {
		d.changes = append(d.changes, c)
	}
}

// answers are what the recorded client has answered to which request.
type answers struct {
	byKey map[key][]int32 // the agent's requests, in order
}

func newAnswers(s *Script) answers {
	a := answers{map[key][]int32{}}
	for i := range s.items.n {
		it := s.items.at(i)
		if it.side != agent || it.kind != wire.Request || it.link < 0 {
			continue
		}
		line, err := s.line(i)
		if err != nil {
			continue // reading on will tell it
		}
		var m wire.Message
		m.Parse(line)
		k := askKey(&m, nil)
		a.byKey[k] = append(a.byKey[k], i)
	}
	return a
}

// askKey is that of a request of the agent's. The ids that it makes up for tool
// calls are no part of it, nor is the choice that it offers: builds offer more or
// less, to the same question.
func askKey(m *wire.Message, back changes) key {
	v := normalised(m.Method, back.json(m.Text(m.Params)), "")
	if top, ok := v.(map[string]any); ok {
		delete(top, "toolCallId")
		if m.Method == acp.ClientMethodSessionRequestPermission {
			delete(top, "options")
		}
		if call, ok := top["toolCall"].(map[string]any); ok {
			delete(call, "toolCallId")
			delete(call, "_meta")
		}
	}
	return keyOf([]any{m.Method, v})
}

// offered tells that what a recorded answer has chosen is there to be chosen, if it
// has chosen anything.
func offered(m *wire.Message, recorded []byte) bool {
	chosen := gjson.GetBytes(recorded, "result.outcome.optionId")
	if m.Method != acp.ClientMethodSessionRequestPermission || !chosen.Exists() {
		return true
	}
	for _, o := range gjson.GetBytes(m.Text(m.Params), "options").Array() {
		if o.Get("optionId").Str == chosen.Str {
			return true
		}
	}
	return false
}

// to is the answer to a request of the agent's, and the item that it may not
// go out before. like is false where the recorded client was not asked that.
func (a *answers) to(s *Script, m *wire.Message, there changes) (line []byte, after int32, like bool) {
	id := string(m.Text(m.ID))
	var back changes
	for _, c := range there {
		if c.path {
			back = append(back, newPaths(c.to, c.from))
		} else {
			back = append(back, newSession(c.to, c.from))
		}
	}
	back = slices.DeleteFunc(back, func(c *change) bool { return c == nil })
	k := askKey(m, back)
	if list := a.byKey[k]; len(list) > 0 {
		i := s.items.at(list[0]).link
		if len(list) > 1 {
			a.byKey[k] = list[1:]
		}
		if recorded, err := s.line(i); err == nil && offered(m, recorded) {
			return there.json(withID(recorded, id)), s.lastBefore(i), true
		}
	}
	if m.Method == acp.ClientMethodSessionRequestPermission {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"cancelled"}}}`+"\n", id), 0, false
	}
	method, err := json.Marshal(m.Method)
	if err != nil {
		method = []byte("null")
	}
	return errorAnswer(id, codeInternal, "acp-shim replay: the recorded client was not asked this", fmt.Appendf(nil, `{"method":%s}`, method)), 0, false
}

// lastBefore is the last frame that the client has begun something with before an
// item, 0 for none.
func (s *Script) lastBefore(i int32) int32 {
	for i--; i > 0; i-- {
		if it := s.items.at(i); it.side == client && it.block >= 0 {
			return i
		}
	}
	return 0
}
