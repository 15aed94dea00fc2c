package proxy

import "acp-shim/internal/wire"

// batch sends a batch of the client's to the first process. Nothing in it is
// changed, but its requests are on the books, so that they are answered when
// that process dies.
func (c *Core) batch(m *Message) {
	a := c.primary()
	if a == nil {
		c.shimToClient(response([]byte("null"), ErrorBody(CodeInternal, c.crashText(nil), nil)), "refused")
		return
	}
	whole := Span{Off: indexOf(m.Raw, '['), End: len(m.Raw)}
	for _, at := range m.Elements(whole) {
		var x Message
		x.Parse(m.Text(at))
		if x.Kind != wire.Request {
			continue
		}
		c.seq++
		r := &Request{Method: "batch", id: append([]byte(nil), x.Text(x.ID)...), sequence: c.seq, agent: a}
		a.open++
		c.requests.put(r.id, r)
	}
	c.send(a, m, nil, false)
}

// agentBatch takes the requests off the books that a batch of an agent's
// answers.
func (c *Core) agentBatch(a *Agent, m *Message) {
	whole := Span{Off: indexOf(m.Raw, '['), End: len(m.Raw)}
	for _, at := range m.Elements(whole) {
		var x Message
		x.Parse(m.Text(at))
		if x.Kind != wire.Response {
			continue
		}
		if r, ok := c.requests.find(x.Text(x.ID), sentTo(a)); ok {
			c.closeRequest(r)
		}
	}
}

func indexOf(b []byte, c byte) int {
	for i, x := range b {
		if x == c {
			return i
		}
	}
	return len(b)
}
