package proxy

import (
	"fmt"
	"log/slog"
)

// A session has one owner among all shims, by a lock in the state directory.

func (c *Core) claim(s *Session) {
	if !s.claiming {
		s.claiming = true
		c.fx.claim(s.id)
	}
}

// claimed is the event that this shim owns a session from now on, with what is
// remembered of it, or that it may not.
func (c *Core) claimed(id string, rec *Record, failure string) {
	s := c.sessions[id]
	if s == nil {
		s = c.alias[id]
	}
	if s == nil {
		c.fx.release(id)
		return
	}
	s.claiming = false
	switch {
	case failure != "":
		if s.claimed {
			c.fx.log(slog.LevelWarn, "the session is not locked", "session", id, "why", failure)
		}
	case id != s.id: // the agent's name for it, too
	default:
		s.claimed = true
		if rec != nil && s.open == nil && s.config == nil {
			s.config = rec.Config
			if rec.Real != "" && rec.Real != s.id {
				failure = c.becomes(s, rec.Real)
				if failure == "" {
					return // it goes on when that is claimed as well
				}
			}
		}
	}
	h := s.restore.first
	if h == nil {
		if s.open == nil && s.agent == nil && len(s.queue) == 0 {
			c.forgetSession(s) // nobody wants it any more
		}
		return
	}
	s.restore.first = nil
	c.unhold(h)
	deletes := h.m.Method == mDelete
	if failure == "" && s.state != Opening && !deletes {
		// Its process is being ended: it is tried again with the next one.
		c.requeue(s, h)
		return
	}
	if failure != "" {
		c.detach(s)
		s.state = Failed
		s.failure = "acp-shim: " + failure
		s.closing = nil // nothing goes on behind it
		c.refuse(h.m, h.request, s.failure, true)
		c.failQueue(s)
		c.forgetSession(s)
		return
	}
	if deletes {
		c.send(c.primary(), h.m, h.request, true)
		return
	}
	c.send(s.agent, h.m, h.request, true)
}

// recalled is the event that the names of sessions of earlier runs are known: a
// list shows them as the client knows them.
func (c *Core) recalled(names map[string]string) { c.names = names }

// becomes gives a session the agent's name for it. Another shim may have the
// conversation by that name: it is claimed as well. The failure is that this one
// has.
func (c *Core) becomes(s *Session, real string) (failure string) {
	if other := c.sessions[real]; other != nil && other != s {
		return fmt.Sprintf("session %s is the conversation that is open as session %s; close that first", s.id, other.id)
	}
	if s.real != s.id {
		delete(c.alias, s.real) // it was made anew before
		c.fx.release(s.real)
	}
	s.real = real
	c.alias[real] = s
	c.spoke = nil
	s.claiming = true
	c.fx.claim(real)
	return ""
}

// disown gives up what was claimed for a session.
func (c *Core) disown(s *Session) {
	c.fx.release(s.id)
	if s.real != s.id {
		c.fx.release(s.real)
	}
}
