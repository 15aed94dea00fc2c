package proxy

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// restore is how far a session is on its way back into a process.
type restore struct {
	sent    bool      // the load, ours or the client's, has gone out
	loading bool      // ours has no answer yet: what comes is history
	method  string    // what was tried last
	lost    bool      // its process was ended on the way
	tries   int       // processes that were lost on the way
	live    bool      // the client loads a session that its process holds already
	setting int       // answers to settings that are still to come
	refused bool      // one of them was an error
	options string    // configOptions, as the agent told them last
	shown   []Setting // the settings as the agent has taken them

	opener *Request // the client's load or resume that opens it
	first  *held    // the frame of that, while it waits for the claim
	answer *Message // the answer to the client's load, until all is set again
	asked  *Request
}

// replaying tells that what process a says of the session is history that the
// client has seen.
func (s *Session) replaying(a *Agent) bool {
	return s.state == Restoring && s.restore.loading && s.agent == a
}

// openSession sends the client's own load or resume of a session that no
// process holds.
func (c *Core) openSession(s *Session, m *Message, r *Request, again bool) {
	a := s.agent // one that was to restore it
	if a == nil || a.state >= condemned {
		a = c.pick(s)
	}
	if a == nil {
		c.starve(s, m, r, again)
		return
	}
	s.starved = false
	s.state, s.agent = Opening, a
	tries := s.restore.tries
	s.restore = restore{sent: true, tries: tries, opener: r}
	a.attach(s)
	c.fx.arm(timerKey{kind: timerLoad, name: s.id}, openLimit)
	if s.claimed {
		c.send(a, m, r, again)
		return
	}
	s.restore.first = c.wait(m, r, again)
	c.claim(s)
}

// requeue puts a frame in front of what waits in a session.
func (c *Core) requeue(s *Session, h *held) {
	c.heldSize += len(h.m.Raw)
	h.request.held = h
	s.queue = append([]*held{h}, s.queue...)
}

// beginRestore gives a session that no process holds to one.
func (c *Core) beginRestore(s *Session) {
	if s.open == nil {
		// It was never open: let the agent say so.
		c.nobodys(s)
		return
	}
	a := c.pick(s)
	if a == nil {
		c.starve(s, nil, nil, false)
		return
	}
	tries := s.restore.tries
	s.restore = restore{tries: tries}
	s.state, s.agent = Restoring, a
	a.attach(s)
	c.event(&Event{Kind: "restore", Agent: a.gen, Session: s.id, Text: "begins"})
	if a.takes() && a.state == ready {
		c.sendLoad(s, c.loadMethod(a))
	}
}

// revive loads a session again whose process was ended for a cancel, so that its
// next prompt does not wait for that. One that the client opens itself before
// each turn, as pi does, the agent would only load twice.
func (c *Core) revive(s *Session) {
	want := s.revive && !s.reloads && s.state == Cold && s.closing == nil && len(s.queue) == 0 && s.open != nil
	s.revive = false
	if !want || c.looping(s) || len(c.waiting) > 0 {
		return // what somebody waits for comes first
	}
	for _, a := range c.agents {
		if a.free() {
			c.beginRestore(s)
			return
		}
	}
}

// nobodys lets the agent say of a session that it does not know it.
func (c *Core) nobodys(s *Session) {
	s.state = Gone
	c.pump(s)
	if s.state == Gone && len(s.queue) == 0 {
		c.forgetSession(s)
	}
}

// loadMethod is how this agent can be told to open a session again.
func (c *Core) loadMethod(a *Agent) string {
	if gjson.GetBytes(a.info, "agentCapabilities.loadSession").Bool() {
		return mLoad
	}
	return mResume
}

func canResume(info []byte) bool {
	return gjson.GetBytes(info, "agentCapabilities.sessionCapabilities.resume").Exists()
}

// sendLoad asks the session's process to open it, with what the client opened
// it with; the chain puts in what is injected now.
func (c *Core) sendLoad(s *Session, method string) {
	params := c.openParams(s, method)
	s.restore.sent, s.restore.method = true, method
	s.restore.loading = method != mNew
	c.fx.arm(timerKey{kind: timerLoad, name: s.id}, loadLimit)
	c.ask(s.agent, s, method, params, func(m *Message, failure string) { c.restored(s, m, failure) })
}

// openParams turns the frame that opened the session into the params of method.
func (c *Core) openParams(s *Session, method string) string {
	m := &Message{}
	m.Parse(append([]byte(nil), s.open...))
	switch {
	case method == mNew:
		m.Delete(m.Params, "sessionId")
	case m.SessionText.Found():
		m.Set(m.SessionText, wire.Quote(s.id))
	default:
		m.Add(m.Params, "sessionId", wire.Quote(s.id))
	}
	return string(m.Text(m.Params))
}

// restored takes the answer to a load of ours.
func (c *Core) restored(s *Session, m *Message, failure string) {
	c.fx.disarm(timerKey{kind: timerLoad, name: s.id})
	if s.state != Restoring || failure != "" {
		return // its process is gone; gone decides
	}
	s.restore.loading = false
	if m.Result.Found() {
		if s.restore.method == mNew {
			c.aliased(s, m)
		}
		c.event(&Event{Kind: "restore", Agent: s.agent.gen, Session: s.id, Text: "opened by " + s.restore.method})
		s.restore.options = optionsOf(m)
		c.configure(s)
		return
	}
	reason := gjson.GetBytes(m.Text(m.Error), "message").Str
	c.fx.log(slog.LevelWarn, "the agent refused to open a session again", "session", s.id, "method", s.restore.method, "reason", reason)
	switch {
	case s.restore.method == mLoad && canResume(s.agent.info):
		c.sendLoad(s, mResume)
	case s.restore.method != mNew && s.blank:
		// Nothing is lost: no turn of it has ended (inferred; see README.md). That is
		// known only of what was made in this run.
		c.sendLoad(s, mNew)
	default:
		next := "; the next request tries once more, or start a new session"
		if advice := c.advice(string(m.Text(m.Error)), s); advice != "" {
			next = advice
		}
		c.failSession(s, fmt.Sprintf("acp-shim: session %s could not be opened again after its agent process was replaced: %s%s", s.id, reason, next))
	}
}

// aliased gives a session that had to be made anew the agent's new id.
func (c *Core) aliased(s *Session, m *Message) {
	id, ok := m.At(m.Result, "sessionId")
	if !ok {
		return
	}
	if failure := c.becomes(s, m.String(id)); failure != "" {
		c.fx.log(slog.LevelError, "the agent has given an id twice", "session", s.id, "agent's id", m.String(id))
		return
	}
	c.fx.log(slog.LevelInfo, "a session with no finished turn was made anew", "session", s.id, "agent's id", s.real)
	c.fx.save(c.record(s))
}

func (c *Core) failSession(s *Session, why string) {
	s.failure = why
	c.event(&Event{Kind: "restore", Session: s.id, Text: "failed"})
	c.fx.log(slog.LevelError, "a session could not be opened again; its requests are answered with an error that says why", "session", s.id)
	c.detach(s)
	s.state = Failed
	s.restore = restore{}
	c.failQueue(s)
}

func (c *Core) failQueue(s *Session) {
	queue := s.queue
	s.queue = nil
	for _, h := range queue {
		c.unhold(h)
		if h.request != nil {
			c.answer(h.request, ErrorBody(CodeInternal, s.failure, nil), "the session could not be restored")
		}
	}
}

// holdAnswer keeps the answer to the client's own load back until what the
// client had set is set again, so that it can show that. It reports false where
// there is nothing to set.
func (c *Core) holdAnswer(a *Agent, r *Request, m *Message) bool {
	s := r.session
	if r.Method != mLoad && r.Method != mResume || s == nil || s.state != Opening || s.agent != a ||
		s.restore.live || s.restore.answer != nil || len(s.config) == 0 || !m.Result.Found() {
		return false
	}
	s.restore.answer, s.restore.asked = m.Clone(), r
	s.state = Restoring
	c.configure(s)
	return true
}

// loadTimeout is the event that a load has no answer.
func (c *Core) loadTimeout(id string) {
	s := c.sessions[id]
	if s == nil || s.agent == nil || s.state != Restoring && s.state != Opening {
		return
	}
	limit := loadLimit
	if s.state == Opening {
		limit = openLimit
	}
	c.fx.log(slog.LevelError, "a session was not opened in time", "session", id, "after", limit)
	s.agent.cause = fmt.Sprintf("it did not open the session within %d s", int(limit/time.Second))
	c.condemn(s.agent, "load timed out", hard)
}

// ask sends a request of the shim's own, through the chain, to process a, and
// returns it as it was sent. done gets the answer, or in words why there is none.
func (c *Core) ask(a *Agent, s *Session, method, params string, done func(m *Message, failure string)) *Message {
	c.ownSeq++
	id := fmt.Sprintf(`"acp-shim/%s/%d"`, c.opt.Nonce, c.ownSeq)
	m := &Message{}
	m.Parse(call(id, method, params))
	r := &Request{Method: method, id: []byte(id), session: s, agent: a, own: done}
	c.own[id] = r
	st := c.step()
	defer c.done(st)
	st.msg, st.agent, st.session, st.request, st.own = m, a, s, r, true
	c.down(st, m)
	if st.dropped {
		delete(c.own, id)
		c.bug("%s of the shim's own was dropped", method)
		return m
	}
	if s != nil {
		s.order++
		if s.real != s.id && m.SessionText.Found() {
			m.Set(m.SessionText, wire.Quote(s.real))
		}
	}
	c.tap(Shim, AgentPeer(a.gen), m.Raw, m, "", false)
	c.fx.toAgent(a.gen, m.Raw)
	return m
}
