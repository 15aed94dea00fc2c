package proxy

import "acp-shim/internal/wire"

// batch sends a batch of the client's to the first process. Nothing in it is
// changed, but its requests are on the books, so that they are answered when
// that process dies.
func (c *Core) batch(m *Message) {
	var list []*Request
	whole := Span{Off: indexOf(m.Raw, '['), End: len(m.Raw)}
	for _, at := range m.Elements(whole) {
		var x Message
		x.Parse(m.Text(at))
		if x.Kind != wire.Request {
			continue
		}
		c.seq++
		r := &Request{Method: "batch", id: append([]byte(nil), x.Text(x.ID)...), sequence: c.seq}
		c.requests.put(r.id, r)
		list = append(list, r)
	}
	a := c.primary()
	if why := c.refuses(a, m, false); why != "" {
		c.tap(Client, Nobody, m.Raw, m, "refused", false)
		if len(list) == 0 {
			c.shimToClient(response([]byte("null"), ErrorBody(CodeInternal, why, nil)), "refused")
		}
		for _, r := range list {
			c.answer(r, ErrorBody(CodeInternal, why, nil), "refused")
		}
		return
	}
	for _, r := range list {
		r.agent = a
		a.open++
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
