package replay

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// oneSide makes blocks of what an agent alone has said. The frames before an
// answer are taken to be the answer's, but for those that agents send by the
// way: they belong to what came before.
type oneSide struct {
	waiting []waiting
	last    *block
}

// waiting is a frame whose answer has not come.
type waiting struct {
	item    int32
	session string
	byTheBy bool
	history bool
}

// ambient are the updates that belong to no turn: agents send them when a session
// is open, or a setting has changed.
func ambient(update string) bool {
	switch update {
	case "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update":
		return true
	}
	return false
}

func (o *oneSide) add(s *Script, at ref, number int, line []byte) {
	var m wire.Message
	m.Parse(line)
	i := s.items.n
	it := item{ref: at, line: int32(number), link: -1, block: -1, side: agent, kind: m.Kind, method: m.Method,
		id: string(m.Text(m.ID)), session: string(m.Session)}
	s.items.add(it)
	s.oneSided = true
	if m.Kind != wire.Response {
		update := gjson.GetBytes(m.Text(m.Params), "update.sessionUpdate").Str
		o.waiting = append(o.waiting, waiting{i, it.session, ambient(update), update == "user_message_chunk"})
		return
	}
	// What came by the way at first is the rest of the block before.
	n := 0
	for o.last != nil && n < len(o.waiting) && o.waiting[n].byTheBy {
		n++
	}
	o.give(s, o.last, o.waiting[:n])
	o.waiting = o.waiting[n:]

	history := slices.ContainsFunc(o.waiting, func(w waiting) bool { return w.history })
	g := guessOf(&m, history)
	b := o.block(s, g)
	// What is asked in a session is not named in its answer, but by what came
	// before it.
	b.made = gjson.GetBytes(m.Text(m.Result), "sessionId").Str
	b.session = b.made
	for _, w := range o.waiting {
		if b.session == nowhere {
			b.session = w.session
		}
	}
	b.answered = true
	o.give(s, b, o.waiting)
	b.steps = append(b.steps, step{i, send})
	o.waiting, o.last = nil, b
}

func (o *oneSide) block(s *Script, g *guess) *block {
	b := &block{index: int32(len(s.blocks)), trigger: -1, request: true, guess: g}
	s.blocks = append(s.blocks, b)
	return b
}

// give gives frames to a block. The agent has waited for the answers to its
// requests.
func (o *oneSide) give(s *Script, b *block, list []waiting) {
	for _, w := range list {
		b.steps = append(b.steps, step{w.item, send})
		if s.items.at(w.item).kind == wire.Request {
			answer := s.items.n
			s.items.add(item{link: w.item, block: -1, side: client, kind: wire.Response})
			b.steps = append(b.steps, step{answer, awaitAnswer})
		}
	}
}

// end is the end of the recording: what waits still was cut off from its answer.
func (o *oneSide) end(s *Script) {
	if len(o.waiting) > 0 {
		b := o.last
		if b == nil || slices.ContainsFunc(o.waiting, func(w waiting) bool { return !w.byTheBy }) {
			b = o.block(s, &guess{methods: []string{"session/prompt"}})
			b.session = o.waiting[0].session
		}
		o.give(s, b, o.waiting)
	}
	for _, b := range s.blocks {
		if b.session != nowhere {
			s.sessions[b.session] = true
		}
	}
	// Clients count their requests: answers that came out of order are put back
	// into it.
	number := func(b *block) int64 {
		for _, st := range slices.Backward(b.steps) {
			if it := s.items.at(st.item); it.kind == wire.Response && it.side == agent {
				if n, err := strconv.ParseInt(it.id, 10, 64); err == nil {
					return n
				}
			}
		}
		return -1
	}
	if !slices.ContainsFunc(s.blocks, func(b *block) bool { return number(b) < 0 }) {
		slices.SortStableFunc(s.blocks, func(a, b *block) int { return int(number(a) - number(b)) })
		for i, b := range s.blocks {
			b.index = int32(i)
		}
	}
}
