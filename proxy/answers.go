package proxy

import (
	"bytes"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// beforeAnswer changes an answer that names sessions by the agent's ids.
func (c *Core) beforeAnswer(a *Agent, r *Request, m *Message) {
	if len(c.alias)+len(c.names) == 0 || !m.Result.Found() {
		return
	}
	if id, ok := m.At(m.Result, "sessionId"); ok {
		c.unalias(m, id)
	}
	if r.Method == mList {
		list, _ := m.At(m.Result, "sessions")
		for i := range m.Elements(list) {
			list, _ = m.At(m.Result, "sessions")
			if id, ok := m.At(m.Elements(list)[i], "sessionId"); ok {
				c.unalias(m, id)
			}
		}
	}
}

func (c *Core) unalias(m *Message, id Span) {
	if s, ok := c.alias[m.String(id)]; ok {
		m.Set(id, wire.Quote(s.id))
	} else if name, ok := c.names[m.String(id)]; ok {
		m.Set(id, wire.Quote(name))
	}
}

// afterAnswer carries out what an agent's answer means for sessions and
// processes, once the client has it.
func (c *Core) afterAnswer(a *Agent, r *Request, m *Message) {
	good := m.Result.Found()
	switch r.Method {
	case mInitialize:
		c.initialized(a, r, m)
		return
	case mAuthenticate, mLogout:
		if good {
			c.authChanged(a, r)
		}
		return
	case mNew, mFork:
		c.sessionMade(a, r, m)
		return
	}
	if r.Method == mDelete && good {
		c.deleted(r)
	}
	s := r.session
	if s == nil {
		return
	}
	switch r.Method {
	case mPrompt:
		if s.running != r {
			return
		}
		if good {
			s.native = !gjson.GetBytes(m.Text(m.Result), "stopReason").Exists()
		}
		if good {
			c.keep(s)
		}
		c.settleTurn(s)
	case mLoad, mResume:
		c.opened(s, a, r, good)
	case mClose, mDelete:
		if s.closing == r {
			s.closing = nil
		}
		switch {
		case good:
			c.closed(s)
		case s.open == nil && s.agent == nil && len(s.queue) == 0:
			c.forgetSession(s) // it was never open here
		default:
			c.wake(s)
		}
	case mSetMode, mSetConfig, mSetModel:
		if good {
			c.remember(s, r)
		}
	}
}

// finishes tells that a prompt's answer, as the agent gave it, is the end of a turn
// that the agent has stored. One that was cancelled or has failed may not be
// (inferred): if the session cannot be loaded then, nothing is lost but that.
func finishes(m *Message) bool {
	stop := gjson.GetBytes(m.Text(m.Result), "stopReason").Str
	return m.Result.Found() && stop != "cancelled"
}

// settingOf tells settings apart, by the frame as the agent gets it.
func settingOf(m *Message) string {
	switch m.Method {
	case mSetMode:
		return "mode"
	case mSetModel:
		return "model"
	case mSetConfig:
		if id, ok := m.At(m.Params, "configId"); ok {
			return m.String(id)
		}
	}
	return ""
}

// settingsLimit and settingLimit bound what is remembered of a session: how many settings,
// and the bytes of each. A model's name is some twenty bytes.
const (
	settingsLimit = 100
	settingLimit  = 64 << 10
)

// remember keeps what the client has set, so that another process can be told.
func (c *Core) remember(s *Session, r *Request) {
	var m Message
	m.Parse(r.orig)
	key := r.setting
	if key == "" {
		return
	}
	kept := s.config[:0:0]
	for _, x := range s.config {
		if x.Key != key {
			kept = append(kept, x)
		}
	}
	if params := m.Text(m.Params); len(kept) < settingsLimit && len(params) <= settingLimit {
		kept = append(kept, Setting{Key: key, Method: r.Method, Params: string(params)})
	}
	s.config = kept
	c.keep(s)
}

// deleted forgets what is remembered of a session, of this run or another one.
func (c *Core) deleted(r *Request) {
	var m Message
	m.Parse(r.orig)
	if c.policy.Exclusive && len(m.Session) > 0 {
		c.fx.forget(string(m.Session))
	}
}

// keep notes that a session is in use. One that is new has nothing to come back
// to before its first turn has ended.
func (c *Core) keep(s *Session) {
	if c.policy.Exclusive && c.sessions[s.id] == s && s.state != Gone {
		c.fx.save(c.record(s))
	}
}

func (c *Core) record(s *Session) Record {
	rec := Record{ID: s.id, Config: s.config}
	if s.real != s.id {
		rec.Real = s.real
	}
	if s.agent != nil {
		rec.Agent = s.agent.name
	}
	var m Message
	m.Parse(s.open)
	if cwd, ok := m.At(m.Params, "cwd"); ok {
		rec.Cwd = m.String(cwd)
	}
	return rec
}

// sessionMade takes the answer to session/new or session/fork.
func (c *Core) sessionMade(a *Agent, r *Request, m *Message) {
	if r.room != nil {
		r.room = nil
		a.reserved--
	}
	id, ok := m.At(m.Result, "sessionId")
	if !m.Result.Found() || !ok || m.String(id) == "" {
		c.freed(a)
		return
	}
	s := c.sessions[m.String(id)]
	if s == nil {
		s = c.addSession(m.String(id))
	}
	if s.agent != nil {
		s.agent.detach(s)
	}
	s.agent, s.state, s.open, s.blank = a, Idle, bytes.Clone(r.orig), r.Method == mNew
	a.attach(s)
	s.claimed = true
	if c.policy.Exclusive {
		c.fx.claim(s.id)
		c.keepStandby()
	}
	c.pump(s)
	c.settleIfIdle(s)
}

// opened takes the answer to a load or resume of the client's.
func (c *Core) opened(s *Session, a *Agent, r *Request, good bool) {
	if !c.policy.Exclusive {
		if good {
			s.agent, s.open = a, bytes.Clone(r.orig)
			a.attach(s)
			if s.state == Cold {
				s.state = Idle
			}
		} else if s.state == Cold && s.agent == nil {
			c.forgetSession(s)
		}
		return
	}
	if s.state != Opening || s.agent != a {
		return
	}
	switch {
	case good:
		s.open = bytes.Clone(r.orig)
		s.blank = s.blank && s.restore.live
		c.keep(s)
		c.live(s)
	case s.restore.live:
		// It was live in this process before, and still is.
		s.state = Idle
		c.pump(s)
	default:
		c.detach(s)
		s.state = Cold
		if s.open == nil {
			// Nobody has it: what waits gets the agent's own answer.
			c.nobodys(s)
		} else {
			c.wake(s)
		}
	}
}

// closed takes a session off its process.
func (c *Core) closed(s *Session) {
	c.detach(s)
	c.nobodys(s)
}

func (c *Core) detach(s *Session) {
	a := s.agent
	if a == nil {
		return
	}
	a.detach(s)
	s.agent = nil
	if a.state < condemned {
		c.freed(a)
	}
}
