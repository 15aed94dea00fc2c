package proxy

import (
	"bytes"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// Session is one session of the client's. It outlives the processes that hold
// it.
type Session struct {
	id, real   string
	state      State
	agent      *Agent
	cancelling bool
	native     bool // its agent answers a prompt before the turn ends
	claimed    bool
	claiming   bool
	running    *Request // the prompt of the turn that runs
	closing    *Request // a close or delete that has no answer yet
	queue      []*held
	order      uint64
	lastUse    uint64 // the client's requests that had come when it was last used
	blank      bool   // was made in this run, and no turn of it has ended
	open       []byte // the client's frame that opened it, as it came
	config     []Setting
	tools      []string // calls that have begun and have no final state
	restore    restore
	starved    bool   // its frames wait for a process to be free
	exit       string // how the last one ended, in words
	revive     bool   // it is loaded again at once when its process is dead
	reloads    bool   // the client opens it again while it is open
	failure    string // why it is Failed
}

// ID is the id that the client knows it by.
func (s *Session) ID() string { return s.id }

// AgentID is the id that its agent knows it by.
func (s *Session) AgentID() string { return s.real }

// State is its state.
func (s *Session) State() State { return s.state }

// Agent is the process that holds it, or nil.
func (s *Session) Agent() *Agent { return s.agent }

// Running is the prompt whose turn runs, or nil.
func (s *Session) Running() *Request { return s.running }

// unwinding tells that its turn is over for the client, and not in its process.
func (s *Session) unwinding() bool {
	return s.state == Running && s.running != nil && s.running.early
}

// spare tells that its process can be ended without a loss: the next use of the
// session brings it back.
func (s *Session) spare() bool {
	return (s.state == Idle || s.unwinding()) && s.agent != nil && len(s.agent.sessions) == 1 && s.agent.open == 0
}

// Native tells that its agent answers a prompt before the turn is over, as
// protocol version 2 has it; then nobody but the agent can tell when it is.
func (s *Session) Native() bool { return s.native }

// Tools are the ids of the tool calls that have begun and not ended, as JSON
// texts.
func (s *Session) Tools() []string { return s.tools }

// HeldPrompts are the prompts that wait in it.
func (s *Session) HeldPrompts() []*Request {
	var list []*Request
	for _, h := range s.queue {
		if h.request != nil && h.request.Method == mPrompt && !h.request.answered {
			list = append(list, h.request)
		}
	}
	return list
}

// Asked are the requests that its process has open at the client.
func (s *Session) Asked() []*Asked {
	if s.agent == nil {
		return nil
	}
	var list []*Asked
	for _, x := range s.agent.asked {
		if x.session == s && !x.settled {
			list = append(list, x)
		}
	}
	return list
}

func (c *Core) addSession(id string) *Session {
	s := &Session{id: id, real: id}
	c.sessions[id] = s
	c.spoke = nil
	return s
}

func (c *Core) byAgentID(id []byte) *Session {
	if s := c.spoke; s != nil && s.real == string(id) {
		return s // a stream is of one session, mostly
	}
	s, ok := c.alias[string(id)]
	if !ok {
		if s = c.sessions[string(id)]; s != nil && s.real != s.id {
			s = nil
		}
	}
	c.spoke = s
	return s
}

func (c *Core) forgetSession(s *Session) {
	if c.sessions[s.id] != s {
		return // the client has opened it anew since
	}
	delete(c.sessions, s.id)
	delete(c.alias, s.real)
	c.spoke = nil
	c.fx.disarm(timerKey{kind: timerIdle, name: s.id})
	c.disown(s)
}

// note keeps what an update tells about the session's tools.
func (s *Session) note(m *Message) {
	u := gjson.GetBytes(m.Text(m.Params), "update")
	switch u.Get("sessionUpdate").Str {
	case "tool_call", "tool_call_update":
		id := u.Get("toolCallId").Raw
		if id == "" {
			return
		}
		at := -1
		for i, t := range s.tools {
			if t == id {
				at = i
			}
		}
		switch status := u.Get("status").Str; {
		case status == "completed" || status == "failed":
			if at >= 0 {
				s.tools = append(s.tools[:at:at], s.tools[at+1:]...)
			}
		case at < 0 && len(s.tools) < 1000:
			s.tools = append(s.tools, id)
		}
	}
}

// toolWord is in every update of a tool call. It begins with a byte that is rare
// in frames: a search stops at each one that is like its first.
var toolWord = []byte("_call")

func speaksOfTools(m *Message) bool { return bytes.Contains(m.Raw, toolWord) }

// admits tells that a frame may be sent for the session now.
func (s *Session) admits(m *Message) bool {
	if s.closing != nil {
		return false // whether there is a session then, is not known
	}
	switch s.state {
	case Idle, Gone, Stuck:
		return true
	case Running:
		if s.unwinding() && m.Kind == wire.Request {
			return false
		}
		switch m.Method {
		case mPrompt, mLoad, mResume, mClose, mDelete:
			return false
		}
		return true
	case Cold, Failed:
		switch m.Method {
		case mLoad, mResume:
			return !s.starved
		case mClose, mDelete:
			return true
		}
	}
	return false
}

// sessionFrame takes a frame for a session that is known: it is delivered, or
// waits for its turn.
func (c *Core) sessionFrame(s *Session, m *Message, r *Request, again bool) {
	if !c.policy.Exclusive {
		c.deliver(s, m, r, again)
		return
	}
	if r != nil && (m.Method == mLoad || m.Method == mResume) && s.agent != nil {
		s.reloads = s.open != nil
	}
	if s.state == Restoring && !s.restore.sent && r != nil && (m.Method == mLoad || m.Method == mResume) && s.agent != nil {
		// The client opens it itself: its own frame takes the place of ours.
		c.fx.disarm(timerKey{kind: timerLoad, name: s.id})
		s.restore = restore{}
		s.state = Cold
		c.deliver(s, m, r, again)
		return
	}
	if len(s.queue) == 0 && s.admits(m) {
		c.deliver(s, m, r, again)
		return
	}
	if m.Method == mClose || m.Method == mDelete {
		c.cancelFor(s)
	}
	s.queue = append(s.queue, c.wait(m, r, again))
	if s.state == Killing {
		c.hurry(s.agent)
	}
	c.unwind(s)
	if len(s.queue) == 1 {
		c.wake(s)
	}
}

// wake begins what a session needs for the frames that wait in it.
func (c *Core) wake(s *Session) {
	if len(s.queue) == 0 || s.starved || s.closing != nil || c.ending {
		return
	}
	switch s.state {
	case Cold, Failed:
		if s.admits(s.queue[0].m) {
			c.pump(s)
			return
		}
		c.beginRestore(s)
	default:
		c.pump(s)
	}
}

// pump delivers what waits, as far as the session admits it.
func (c *Core) pump(s *Session) {
	for len(s.queue) > 0 && s.admits(s.queue[0].m) {
		h := s.queue[0]
		s.queue = s.queue[1:]
		c.unhold(h)
		if h.request != nil && h.request.answered {
			continue
		}
		c.deliver(s, h.m, h.request, true)
	}
	if len(s.queue) > 0 && (s.state == Cold || s.state == Failed) {
		c.wake(s)
	}
}

func (s *Session) unqueue(c *Core, r *Request) {
	if h := s.restore.first; h != nil && h.request == r {
		s.restore.first = nil
		c.unhold(h)
	}
	for i, h := range s.queue {
		if h.request == r {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			c.unhold(h)
			return
		}
	}
}

// deliver sends a frame that the session admits.
func (c *Core) deliver(s *Session, m *Message, r *Request, again bool) {
	c.fx.rest(timerKey{kind: timerIdle, name: s.id})
	if !c.policy.Exclusive {
		a := s.agent
		if a == nil || a.state >= condemned {
			if a = c.primary(); a != nil {
				s.agent = a
				a.attach(s)
			}
		}
		if r != nil && m.Method == mPrompt {
			s.running = r
			s.state = Running
		}
		c.send(a, m, r, again)
		return
	}
	if r != nil && (m.Method == mClose || m.Method == mDelete) && s.state != Stuck {
		s.closing = r
	}
	switch s.state {
	case Gone:
		if r != nil && (m.Method == mLoad || m.Method == mResume) {
			s.state = Cold
			c.openSession(s, m, r, again)
			return
		}
		c.send(c.primary(), m, r, again)
		return
	case Stuck:
		c.refuse(m, r, c.stuckText(s), again)
		return
	case Cold, Failed:
		switch {
		case m.Method == mClose && r != nil && s.open != nil:
			// No process holds it: it is closed, and an agent that never had it
			// would answer with an error.
			c.tap(Client, Nobody, m.Raw, m, "closed already", again)
			s.closing = nil // what waits behind it goes on when it is gone
			c.answer(r, ResultBody("{}"), "no process holds it")
			c.closed(s)
		case m.Method == mDelete && r != nil && !s.claimed:
			// Another shim may have it open.
			s.restore.first = c.wait(m, r, again)
			c.claim(s)
		case m.Method == mClose || m.Method == mDelete:
			c.send(c.primary(), m, r, again)
		default:
			c.openSession(s, m, r, again)
		}
		return
	}
	switch {
	case m.Method == mPrompt && r != nil:
		s.state, s.running = Running, r
		s.tools = nil
	case (m.Method == mLoad || m.Method == mResume) && r != nil:
		s.state, s.restore = Opening, restore{live: true, opener: r}
		c.fx.arm(timerKey{kind: timerLoad, name: s.id}, openLimit)
	}
	s.lastUse = c.seq
	c.send(s.agent, m, r, again)
	c.settleIfIdle(s)
}

// settleTurn ends a turn.
func (c *Core) settleTurn(s *Session) {
	s.state, s.running, s.cancelling = Idle, nil, false
	if !c.policy.Exclusive {
		return // its process is nobody's, and nothing waits
	}
	if s.agent == nil || s.agent.state >= condemned {
		s.state = Killing // until its process is gone
		return
	}
	c.turnOver()
	c.pump(s)
	c.settleIfIdle(s)
}

// settleIfIdle arms the timer that ends the process of an idle session.
func (c *Core) settleIfIdle(s *Session) {
	if c.policy.Exclusive && c.opt.IdleTimeout > 0 && (s.state == Idle || s.unwinding()) {
		c.fx.arm(timerKey{kind: timerIdle, name: s.id}, c.opt.IdleTimeout)
	}
}

// cancelFor cancels a session's turn, and the prompts that wait in it, in the
// client's name, since it closes it.
func (c *Core) cancelFor(s *Session) {
	if s.state != Running && len(s.HeldPrompts()) == 0 {
		return
	}
	var m Message
	m.Parse(Notice(mCancel, Object("sessionId", s.id)))
	st := c.step()
	defer c.done(st)
	st.msg, st.session, st.agent, st.own = &m, s, s.agent, true
	c.down(st, &m)
	if !st.dropped && s.agent != nil && s.agent.takes() {
		if s.real != s.id {
			m.Set(m.SessionText, wire.Quote(s.real))
		}
		c.shimToAgent(s.agent, m.Raw, "the session is closed")
	}
}
