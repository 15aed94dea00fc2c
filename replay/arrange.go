package replay

import (
	acp "github.com/coder/acp-go-sdk"

	"acp-shim/internal/wire"
)

// arranger gives each frame of the agent's to the block that it belongs to.
type arranger struct {
	s     *Script
	lanes map[lane]*course
	last  map[int32]*block // of a connection: that of the frame before
	owner map[int32]*block // of the agent's requests
}

// lane is a session on one connection.
type lane struct {
	conn    int32
	session string
}

// course is how far a lane has gone.
type course struct {
	open []*block // turns, loads and openings that are not answered
	last *block   // what the client began last
}

func newArranger(s *Script) *arranger {
	return &arranger{s: s, lanes: map[lane]*course{}, last: map[int32]*block{}, owner: map[int32]*block{}}
}

func (a *arranger) course(conn int32, session string) *course {
	key := lane{conn, session}
	c := a.lanes[key]
	if c == nil {
		c = &course{}
		a.lanes[key] = c
	}
	return c
}

func (a *arranger) arrange() {
	for i := range a.s.items.n {
		it := a.s.items.at(i)
		switch {
		case it.block >= 0:
			a.begun(i, it)
		case it.side == client:
			if b := a.owner[it.link]; b != nil && it.link >= 0 {
				b.steps = append(b.steps, step{i, awaitAnswer})
			}
		case it.kind == wire.Response && it.link >= 0:
			a.answered(i, it)
		default:
			a.spoken(i, it)
		}
	}
}

func (a *arranger) begun(i int32, it *item) {
	b := a.s.blocks[it.block]
	c := a.course(it.conn, b.session)
	switch it.method {
	case acp.AgentMethodSessionCancel:
		for _, o := range c.open {
			if o.method == acp.AgentMethodSessionPrompt {
				o.steps = append(o.steps, step{i, awaitCancel})
			}
		}
	case cancelRequest:
		for _, o := range a.openRequests(it.conn, it.id) {
			o.steps = append(o.steps, step{i, awaitCancelRequest})
			c = a.course(it.conn, o.session)
		}
	}
	c.last, a.last[it.conn] = b, b
	if b.request && opensTurn(b.method) {
		c.open = append(c.open, b)
	}
}

// openRequests are the turns and loads with an id that are not over.
func (a *arranger) openRequests(conn int32, id string) (list []*block) {
	for key, c := range a.lanes {
		if key.conn != conn {
			continue
		}
		for _, b := range c.open {
			if a.s.items.at(b.trigger).id == id {
				list = append(list, b)
			}
		}
	}
	return list
}

func (a *arranger) answered(i int32, it *item) {
	q := a.s.items.at(it.link)
	if q.block < 0 {
		return
	}
	b := a.s.blocks[q.block]
	b.steps = append(b.steps, step{i, send})
	c := a.course(it.conn, b.session)
	for n, o := range c.open {
		if o == b {
			c.open = append(c.open[:n:n], c.open[n+1:]...)
			break
		}
	}
	a.last[it.conn] = b
	if b.made != nowhere && b.made != b.session { // a fork's own session
		a.course(it.conn, b.made).last = b
	}
}

// spoken gives away what the agent said of its own accord.
func (a *arranger) spoken(i int32, it *item) {
	var b *block
	if it.session != nowhere {
		c := a.course(it.conn, it.session)
		for _, o := range c.open {
			// A turn that was never answered may be one that hung and was left
			// behind.
			if b == nil || o.answered && !b.answered {
				b = o
			}
		}
		if b == nil {
			b = c.last
		}
	}
	if b == nil {
		b = a.last[it.conn]
	}
	if b == nil {
		b = a.prelude(it.conn)
	}
	b.steps = append(b.steps, step{i, send})
	if it.kind == wire.Request {
		a.owner[i] = b
	}
	a.last[it.conn] = b
}

// prelude is what an agent says before it is asked anything: it is played when
// its client is there.
func (a *arranger) prelude(conn int32) *block {
	b := &block{index: int32(len(a.s.blocks)), trigger: -1, method: prelude}
	a.s.blocks = append(a.s.blocks, b)
	a.last[conn] = b
	return b
}

// prelude stands for the method of what was not asked for.
const prelude = "\x00prelude"
