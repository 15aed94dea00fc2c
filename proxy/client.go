package proxy

import (
	"bytes"
	"fmt"
	"log/slog"

	"acp-shim/internal/wire"
)

func undo(m *Message) []byte { return wire.Undo(m.Raw, m.Edits()) }

// client is the event that a line came from the client. It is parsed in place;
// what must be kept is copied.
func (c *Core) client(line []byte) {
	m := &c.msg
	m.Parse(line)
	switch m.Kind {
	case wire.Blank:
		if c.opt.Policy == nil {
			c.send(c.primary(), m, nil, false) // a plain relay
			return
		}
		// At least one agent answers a blank line with an error.
		c.tap(Client, Nobody, line, m, "blank", false)
	case wire.Noise, wire.Opaque:
		c.send(c.primary(), m, nil, false)
	case wire.Batch:
		c.batch(m)
	case wire.Response:
		c.clientAnswers(m)
	default:
		c.clientSays(m)
	}
}

// clientTooLong is the event that the client sent a line beyond the limit.
func (c *Core) clientTooLong(head []byte, limit int) {
	id := []byte("null")
	var m Message
	m.Parse(head)
	if m.ID.Found() && m.ID.End < len(head) {
		id = m.Text(m.ID)
		if x, ok := c.asked.get(id); ok && m.Method == "" {
			// An answer: the agent must not wait for it.
			c.asked.drop(id, func(y *Asked) bool { return y == x })
			x.agent.forget(x)
			c.settle(x, ErrorBody(CodeInternal, "acp-shim: the client's answer was too long to be passed on", nil), "too long")
			return
		}
	}
	msg := fmt.Sprintf("acp-shim: a frame of more than %d MiB was not sent on; split it, or raise --max-frame", limit>>20)
	c.fx.log(slog.LevelError, "a frame from the client is too long", "limit", limit)
	c.shimToClient(response(id, ErrorBody(-32600, msg, nil)), "too long")
}

// clientSays takes a request or a notification.
func (c *Core) clientSays(m *Message) {
	var r *Request
	if m.Kind == wire.Request {
		c.seq++
		r = &Request{Method: m.Method, sequence: c.seq}
		r.id = append(r.short[:0], m.Text(m.ID)...)
		c.requests.put(r.id, r)
	}
	if c.ending {
		since := "its input has ended"
		if c.since != "" {
			since = c.since
		}
		c.refuse(m, r, "acp-shim is ending, since "+since, false)
		return
	}
	switch {
	case m.Method == mInitialize && r != nil:
		c.initialize(m, r)
	case c.opening && !c.decided && m.Method == mCancelRequest && c.cancelHeld(m, false):
	case c.opening && !c.decided && c.tooMuch(m):
		c.refuse(m, r, heldText, false)
	case c.opening && !c.decided:
		// Which profile applies is known when initialize is answered.
		c.gate = append(c.gate, c.hold(m, r))
	case m.Method == mCancelRequest && c.cancelRequest(m, false):
	case m.Method == mCancel:
		c.cancel(m, r, false)
	default:
		c.route(m, r, false)
	}
}

// hold keeps a frame for later.
func (c *Core) hold(m *Message, r *Request) *held {
	h := &held{m: m.Clone(), request: r}
	c.heldSize += len(m.Raw)
	c.tap(Client, Nobody, m.Raw, m, "held", false)
	if r != nil {
		r.held = h
	}
	return h
}

// tooMuch tells that a frame is more than may wait beside what does already. One
// alone may be as long as any: it is there, and its length has a limit of its own.
func (c *Core) tooMuch(m *Message) bool {
	return c.heldSize > 0 && c.heldSize+len(m.Raw) > heldLimit
}

// wait keeps a frame: one that has just come by a copy, one that was held before
// as it is.
func (c *Core) wait(m *Message, r *Request, again bool) *held {
	if !again {
		return c.hold(m, r)
	}
	h := &held{m: m, request: r}
	c.heldSize += len(m.Raw)
	if r != nil {
		r.held = h
	}
	return h
}

func (c *Core) unhold(h *held) {
	c.heldSize -= len(h.m.Raw)
	if h.request != nil {
		h.request.held = nil
	}
}

// full says once of a process that what is for it is not even kept any more.
func (c *Core) full(a *Agent) {
	if !a.full {
		a.full = true
		c.fx.log(slog.LevelError, "the agent takes no input; what the client sends it is refused until it does", "agent", a.gen)
	}
}

const heldText = "acp-shim: more than 256 MiB of frames wait for the agent already"

// route finds the session or the process that a frame is for.
func (c *Core) route(m *Message, r *Request, again bool) {
	if c.tooMuch(m) {
		c.refuse(m, r, heldText, again)
		return
	}
	if len(m.Session) > 0 {
		s := c.sessions[string(m.Session)]
		if s == nil && (m.Method == mLoad || m.Method == mResume) && r != nil {
			if as := c.alias[string(m.Session)]; as != nil {
				c.refuse(m, r, fmt.Sprintf("acp-shim: this conversation is open here as session %s; use that id", as.id), again)
				return
			}
			s = c.addSession(string(m.Session))
		}
		if s == nil && m.Method == mDelete && r != nil && c.policy.Exclusive && c.alias[string(m.Session)] == nil {
			s = c.addSession(string(m.Session))
		}
		if r != nil {
			r.session = s
		}
		if s != nil {
			c.sessionFrame(s, m, r, again)
			return
		}
	}
	if m.Method == mNew && r != nil && c.policy.Exclusive {
		c.newSession(m, r, again)
		return
	}
	c.send(c.primary(), m, r, again)
}

// send passes a frame of the client's through the chain to process a, or keeps
// it until a takes frames. With no process to be had it is refused.
func (c *Core) send(a *Agent, m *Message, r *Request, again bool) {
	if why := c.refuses(a, m, again); why != "" {
		c.refuse(m, r, why, again)
		return
	}
	if !a.takes() {
		a.queue = append(a.queue, c.wait(m, r, again))
		return
	}
	s := c.step()
	defer c.done(s)
	s.msg, s.agent, s.request = m, a, r
	if r != nil {
		s.session = r.session
		if kept(r.Method) && r.orig == nil {
			r.orig = append([]byte(nil), m.Raw...)
		}
	} else if len(m.Session) > 0 {
		s.session = c.sessions[string(m.Session)]
	}
	c.down(s, m)
	if s.dropped {
		c.tap(Client, Nobody, m.Raw, m, s.why, again)
		if r != nil && !r.answered && !s.held {
			c.bug("%s was dropped without an answer", r.Method)
			c.answer(r, ErrorBody(CodeInternal, "acp-shim: internal error", nil), "internal error")
		}
		return
	}
	if s.session != nil {
		s.session.order++
		if s.session.real != s.session.id && m.SessionText.Found() {
			m.Set(m.SessionText, wire.Quote(s.session.real))
		}
	}
	if r != nil {
		r.agent = a
		a.open++
		c.limit(a, r)
		if s.session != nil {
			r.order = s.session.order
		}
		r.setting = settingOf(m)
		if r.keep {
			r.sent = append([]byte(nil), m.Raw...)
		}
	}
	c.tap(Client, AgentPeer(a.gen), m.Raw, m, "", again)
	c.fx.toAgent(a.gen, m.Raw)
}

// refuses tells why a frame cannot go to process a, "" where it can, or may wait for it.
func (c *Core) refuses(a *Agent, m *Message, again bool) string {
	switch {
	case a == nil:
		return c.crashText(nil)
	case !a.takes() && !again && c.tooMuch(m):
		return heldText
	case a.takes() && m.Method != mCancel && c.fx.unsent(a.gen) > heldLimit:
		c.full(a)
		return heldText
	}
	return ""
}

// release sends a frame that was held.
func (c *Core) release(h *held) {
	c.unhold(h)
	if h.request != nil && h.request.answered {
		return
	}
	c.route(h.m, h.request, true)
}

// refuse answers a request with an error of the shim's; anything else is dropped. again
// tells that the frame was held before.
func (c *Core) refuse(m *Message, r *Request, why string, again bool) {
	c.tap(Client, Nobody, m.Raw, m, "refused", again)
	if r != nil {
		c.answer(r, ErrorBody(CodeInternal, why, nil), "refused")
	}
}

// cancelHeld carries out $/cancel_request for a request that has not been sent. It
// reports false for any other, and for initialize, which all others wait for.
func (c *Core) cancelHeld(m *Message, again bool) bool {
	id, ok := m.At(m.Params, "requestId")
	if !ok {
		return false
	}
	r, ok := c.requests.find(m.Text(id), waiting)
	return ok && r.Held() && r.Method != mInitialize && c.cancelRequest(m, again)
}

// cancelRequest carries out $/cancel_request for a request that the client has no answer
// to. It reports false where there is none.
func (c *Core) cancelRequest(m *Message, again bool) bool {
	id, ok := m.At(m.Params, "requestId")
	if !ok {
		return false
	}
	r, ok := c.requests.find(m.Text(id), waiting)
	if !ok || !r.Held() {
		if ok && r.agent != nil && r.agent.state < condemned {
			c.sendCancelRequest(m, r, again)
			return true
		}
		return false
	}
	c.tap(Client, Nobody, m.Raw, m, "request was held", again)
	c.answer(r, ErrorBody(CodeCancelled, "request cancelled", nil), "cancelled while held")
	return true
}

// sendCancelRequest sends $/cancel_request to the process that has the request.
func (c *Core) sendCancelRequest(m *Message, r *Request, again bool) {
	s := c.step()
	defer c.done(s)
	s.msg, s.agent, s.session, s.request = m, r.agent, r.session, r
	c.down(s, m)
	if s.dropped || !r.agent.takes() {
		c.tap(Client, Nobody, m.Raw, m, s.why, again)
		return
	}
	c.tap(Client, AgentPeer(r.agent.gen), m.Raw, m, "", again)
	c.fx.toAgent(r.agent.gen, m.Raw)
}

// cancel takes a session/cancel, which waits behind nothing that is held.
func (c *Core) cancel(m *Message, r *Request, again bool) {
	sess := c.sessions[string(m.Session)]
	if r != nil {
		r.session = sess
	}
	var a *Agent
	if sess != nil {
		a = sess.agent
	}
	if !c.policy.Exclusive {
		if a == nil || a.state >= condemned {
			a = c.primary()
		}
		c.send(a, m, r, again)
		return
	}
	if a != nil && a.takes() {
		c.send(a, m, r, again)
		return
	}
	s := c.step()
	defer c.done(s)
	s.msg, s.session, s.request = m, sess, r
	c.down(s, m)
	c.tap(Client, Nobody, m.Raw, m, "nothing to cancel", again)
	if r != nil && !s.held {
		c.answer(r, ResultBody("{}"), "nothing to cancel")
	}
}

// clientAnswers passes the client's answer to the process that asked.
func (c *Core) clientAnswers(m *Message) {
	id := m.Text(m.ID)
	asked, ok := c.asked.get(id)
	if !ok {
		a := c.primary()
		if a != nil && c.policy.Exclusive && a.waitsFor(id) {
			// It asked under this id, and the client knows that by another: a
			// second answer to some other process would approve the wrong thing.
			c.tap(Client, Nobody, m.Raw, m, "answers nothing", false)
			return
		}
		// Nobody asked: the first process may make of it what it likes.
		c.send(a, m, nil, false)
		return
	}
	c.asked.drop(id, func(x *Asked) bool { return x == asked })
	s := c.step()
	defer c.done(s)
	s.msg, s.agent, s.session, s.asked = m, asked.agent, asked.session, asked
	c.down(s, m)
	asked.agent.forget(asked)
	switch {
	case s.dropped:
		c.tap(Client, Nobody, m.Raw, m, s.why, false)
	case asked.settled || asked.agent.state >= condemned:
		c.tap(Client, Nobody, m.Raw, m, "late", false)
	case !bytes.Equal(asked.id, asked.as) && !m.Set(m.ID, string(asked.id)):
		// Under the id that the client knows it would answer something else.
		c.tap(Client, Nobody, m.Raw, m, "malformed", false)
		c.settle(asked, ErrorBody(CodeInternal, "acp-shim: the client's answer is malformed", nil), "malformed")
	default:
		c.tap(Client, AgentPeer(asked.agent.gen), m.Raw, m, "", false)
		c.fx.toAgent(asked.agent.gen, m.Raw)
	}
}
