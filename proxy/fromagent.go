package proxy

import (
	"bytes"
	"log/slog"
	"strconv"

	"acp-shim/internal/wire"
)

// agentLine is the event that a line came from process gen.
func (c *Core) agentLine(gen int, line []byte) {
	m := &c.msg
	c.parser.Parse(m, line)
	from := AgentPeer(gen)
	a := c.agentOf(gen)
	if a == nil || a.state >= condemned {
		c.tap(from, Nobody, line, m, "condemned", false)
		return
	}
	switch m.Kind {
	case wire.Blank, wire.Noise:
		if c.policy.DropNoise {
			c.tap(from, Nobody, line, m, "noise", false)
			return
		}
	case wire.Opaque:
		if c.policy.DropNoise && line[len(line)-1] != '\n' {
			c.tap(from, Nobody, line, m, "half a line", false)
			return
		}
	case wire.Batch:
		c.agentBatch(a, m)
	case wire.Response:
		c.agentAnswers(a, m)
		return
	case wire.Request:
		c.agentAsks(a, m)
		return
	case wire.Notification:
		c.agentTells(a, m)
		return
	}
	c.pass(a, m, nil, nil)
}

// pass takes a frame through the chain to the client. It reports whether the
// frame went out.
func (c *Core) pass(a *Agent, m *Message, r *Request, asked *Asked) bool {
	s := c.step()
	defer c.done(s)
	s.msg, s.agent, s.request, s.asked = m, a, r, asked
	switch {
	case r != nil:
		s.session = r.session
	case len(m.Session) > 0:
		s.session = c.byAgentID(m.Session)
	}
	c.up(s, m)
	if s.dropped {
		c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, s.why, false)
		return false
	}
	if r != nil && r.answered {
		c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, "answered already", false)
		return false
	}
	if s.session != nil && s.session.real != s.session.id && m.SessionText.Found() {
		m.Set(m.SessionText, wire.Quote(s.session.id))
	}
	if asked != nil && !bytes.Equal(asked.id, asked.as) {
		m.Set(m.ID, string(asked.as))
	}
	c.tap(AgentPeer(a.gen), Client, m.Raw, m, "", false)
	c.fx.toClient(m.Raw)
	return true
}

// agentTells takes a notification.
func (c *Core) agentTells(a *Agent, m *Message) {
	if m.Method == mCancelRequest {
		c.agentCancels(a, m)
		return
	}
	if len(m.Session) > 0 {
		if s := c.byAgentID(m.Session); s != nil {
			if s.replaying(a) {
				c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, "replay", false)
				return
			}
			if s.agent != nil && s.agent != a && c.policy.Exclusive {
				c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, "not its session", false)
				return
			}
			if c.ofTools.Of(m, speaksOfTools) {
				s.note(m)
			}
		}
	}
	c.pass(a, m, nil, nil)
}

// agentAsks takes a request of an agent's. Its id goes to the client as it is
// unless the client has one like it still open, whoever asked that.
func (c *Core) agentAsks(a *Agent, m *Message) {
	x := &Asked{Method: m.Method, agent: a, id: bytes.Clone(m.Text(m.ID))}
	x.as = x.id
	if len(m.Session) > 0 {
		x.session = c.byAgentID(m.Session)
	}
	for {
		y, taken := c.asked.get(x.as)
		if !taken {
			break
		}
		if !c.policy.Exclusive && len(c.agents) == 1 && c.opt.Policy == nil && !y.settled {
			break // a plain relay repeats what it is given
		}
		x.as = c.freeID()
	}
	if !bytes.Equal(x.id, x.as) && !m.Object() {
		// It cannot get another id, and under its own the client's answer to
		// somebody else's request would be taken for its.
		c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, "malformed, and its id is taken", false)
		c.shimToAgent(a, response(x.id, ErrorBody(-32600, "acp-shim: the request is malformed", nil)), "malformed")
		return
	}
	c.asked.put(x.as, x)
	a.asked = append(a.asked, x)
	if c.pass(a, m, nil, x) {
		return
	}
	// The client has not seen it, and will not answer it.
	c.asked.drop(x.as, func(y *Asked) bool { return y == x })
	a.forget(x)
	if !x.settled {
		c.bug("a request of the agent's, %s, was dropped without an answer", x.Method)
	}
}

// freeID is an id that the client has nothing open under.
func (c *Core) freeID() []byte {
	for {
		id := strconv.AppendInt(nil, int64(c.askedSeq), 10)
		c.askedSeq++
		if _, taken := c.asked.get(id); !taken {
			return id
		}
	}
}

// agentCancels passes a $/cancel_request with the id that the client knows.
func (c *Core) agentCancels(a *Agent, m *Message) {
	if id, ok := m.At(m.Params, "requestId"); ok {
		for _, x := range a.asked {
			if bytes.Equal(x.id, m.Text(id)) && !bytes.Equal(x.id, x.as) {
				m.Set(id, string(x.as))
				break
			}
		}
	}
	c.pass(a, m, nil, nil)
}

// agentAnswers takes a response.
func (c *Core) agentAnswers(a *Agent, m *Message) {
	id := m.Text(m.ID)
	if r, ok := c.own[string(id)]; ok {
		c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, "answers the shim", false)
		if r.agent == a {
			delete(c.own, string(id))
			r.answered = true
			r.own(m, "")
		}
		return
	}
	r, ok := c.requests.find(id, sentTo(a))
	if !ok {
		if c.policy.Exclusive && m.ID.Found() && string(id) != "null" {
			c.tap(AgentPeer(a.gen), Nobody, m.Raw, m, "answers nothing", false)
			return
		}
		c.pass(a, m, nil, nil)
		return
	}
	if c.holdAnswer(a, r, m) {
		return
	}
	c.beforeAnswer(a, r, m)
	finished := r.Method == mPrompt && finishes(m)
	sent := c.pass(a, m, r, nil)
	if r.agent == a && !sent && !r.answered {
		return // sent once more, or kept for later
	}
	if sent {
		c.closeRequest(r)
	}
	c.unwound(r)
	if finished && r.session != nil {
		r.session.blank = false
	}
	c.afterAnswer(a, r, m)
	if a.open == 0 {
		c.renewIfIdle(a)
		c.settled()
	}
}

// closeRequest takes an answered request off the books.
func (c *Core) closeRequest(r *Request) {
	if r.answered {
		return
	}
	r.answered = true
	if r.agent != nil {
		r.agent.open--
	}
	c.unlimit(r)
	c.requests.drop(r.id, func(x *Request) bool { return x == r })
}

// answer answers a request of the client's in the agent's place.
func (c *Core) answer(r *Request, body, why string) {
	if r == nil || r.answered {
		return
	}
	c.closeRequest(r)
	c.shimToClient(response(r.id, body), why)
	if s := r.session; s != nil {
		s.unqueue(c, r)
		if s.running == r {
			s.running = nil
			if s.state == Running {
				c.settleTurn(s)
			}
		}
		if s.closing == r {
			s.closing = nil
			c.wake(s)
		}
	}
	switch a := r.agent; {
	case a == nil:
		c.notOpened(r)
	case a.state < condemned && a.open == 0:
		c.settled()
	}
}

// answerEarly answers a prompt whose turn goes on in its process.
func (c *Core) answerEarly(r *Request, body, why string) {
	if r == nil || r.answered {
		return
	}
	s := r.session
	if s == nil || s.running != r || r.agent == nil || r.agent.state >= condemned {
		c.answer(r, body, why)
		return
	}
	r.answered, r.early = true, true
	r.agent.open--
	c.shimToClient(response(r.id, body), why)
	c.unwind(s)
	c.settleIfIdle(s)
	c.settled()
}

// unwind ends the process of a session whose turn the client has an answer to,
// when something waits for the turn's end.
func (c *Core) unwind(s *Session) {
	if c.policy.Exclusive && s.unwinding() && len(s.queue) > 0 {
		c.recycle(s, "its last turn does not end")
	}
}

// unwound takes a prompt off the books that was answered early.
func (c *Core) unwound(r *Request) {
	if r.early {
		r.early = false
		c.requests.drop(r.id, func(x *Request) bool { return x == r })
	}
}

// notOpened ends the opening of a session whose request is answered before an
// agent has it, as if the agent had refused it: what waits for it would wait for
// good.
func (c *Core) notOpened(r *Request) {
	if a := r.room; a != nil {
		r.room = nil
		a.reserved--
		c.freed(a)
	}
	s := r.session
	if s == nil || s.restore.opener != r {
		return
	}
	c.opened(s, s.agent, r, false)
}

// settle answers a request of an agent's in the client's place.
func (c *Core) settle(x *Asked, body, why string) {
	if x.settled {
		return
	}
	x.settled = true
	if x.agent.state < condemned {
		c.shimToAgent(x.agent, response(x.id, body), why)
	}
}

// resend sends the request that was answered once more, with other bytes.
func (c *Core) resend(r *Request, frame []byte, why string) {
	if r == nil || r.agent == nil || r.answered || !r.agent.takes() {
		return
	}
	var m Message
	m.Parse(frame)
	r.setting = settingOf(&m)
	if r.keep {
		r.sent = bytes.Clone(frame)
	}
	if r.session != nil {
		r.session.order++
		r.order = r.session.order
	}
	c.shimToAgent(r.agent, frame, why)
}

func (c *Core) shimToAgent(a *Agent, frame []byte, why string) {
	if a == nil || a.state <= starting || a.state >= condemned {
		return
	}
	c.tap(Shim, AgentPeer(a.gen), frame, nil, why, false)
	c.fx.toAgent(a.gen, frame)
}

func (c *Core) shimToClient(frame []byte, why string) {
	c.tap(Shim, Client, frame, nil, why, false)
	c.fx.toClient(frame)
}

// askClient sends a request of the shim's own to the client.
func (c *Core) askClient(method, params, why string) {
	id := string(c.freeID())
	gone := &Agent{state: dead}
	c.asked.put([]byte(id), &Asked{Method: method, agent: gone, id: []byte(id), as: []byte(id), settled: true})
	c.shimToClient(call(id, method, params), why)
}

// agentTooLong is the event that a process sent a line beyond the limit.
func (c *Core) agentTooLong(gen int, head []byte, limit int) {
	c.fx.log(slog.LevelError, "a frame from the agent is too long and is dropped", "agent", gen, "limit", limit)
	c.event(&Event{Kind: "note", Agent: gen, Text: "a frame beyond the limit was dropped"})
	var m Message
	m.Parse(head)
	a := c.agentOf(gen)
	if a != nil && m.ID.Found() && m.Method != "" {
		text := "acp-shim: a request of more than " + strconv.Itoa(limit>>20) + " MiB was not passed on"
		c.shimToAgent(a, response(bytes.Clone(m.Text(m.ID)), ErrorBody(CodeInternal, text, nil)), "too long")
	}
	if a != nil && m.ID.Found() && m.Method == "" {
		if r, ok := c.requests.find(m.Text(m.ID), sentTo(a)); ok {
			c.answer(r, ErrorBody(CodeInternal, "acp-shim: the agent's answer was longer than "+strconv.Itoa(limit>>20)+" MiB; raise --max-frame", nil), "too long")
			c.unwound(r)
			if s := r.session; s != nil && s.running == r {
				c.settleTurn(s)
			}
			if r.room != nil || r.session != nil && r.session.restore.opener == r {
				// It may hold the session now, and nobody knows.
				c.condemn(a, "its answer was too long", soft)
			}
			c.settled()
		}
	}
}
