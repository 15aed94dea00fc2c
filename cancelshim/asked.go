package cancelshim

import (
	"log/slog"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// asked is a cancel that was passed on to an agent whose process is not ended
// for it. All that can keep it from working is the client: ACP has it answer
// every open permission request with "cancelled", and clients are known that
// do not, which gemini waits for without end.
type asked struct {
	session *proxy.Session
	prompt  *proxy.Request // nil where the agent has answered it before the turn's end
	// due are the requests that get their answer when the timer fires, fresh
	// those that came since it was armed: each has the grace period at least.
	due, fresh []*proxy.Asked
}

// ask notes a cancel that is on its way to the agent.
func (c *Shim) ask(s *proxy.Step) {
	sess := s.Session()
	if sess == nil || sess.Agent() == nil {
		return
	}
	if t := c.turn(s, sess); t != nil {
		c.takeOver(s, t)
	}
	if sess.Running() == nil && !sess.Native() {
		return
	}
	k := c.asked[sess.ID()]
	if k == nil {
		k = &asked{session: sess}
		c.asked[sess.ID()] = k
	}
	k.prompt = sess.Running()
	for _, x := range sess.Asked() {
		c.owes(s, k, x)
	}
}

// owes notes a permission request that the client has to answer.
func (c *Shim) owes(s *proxy.Step, k *asked, x *proxy.Asked) {
	if x.Method != acp.ClientMethodSessionRequestPermission {
		return
	}
	for _, y := range append(k.due, k.fresh...) {
		if x == y {
			return
		}
	}
	if len(k.due) > 0 {
		k.fresh = append(k.fresh, x)
		return
	}
	k.due = append(k.due, x)
	s.After(c.opt.Grace, "asked "+k.session.ID())
}

// asks sees what an agent does that was asked to cancel a turn.
func (c *Shim) asks(s *proxy.Step, m *proxy.Message) {
	if s.Session() == nil {
		return
	}
	k := c.asked[s.Session().ID()]
	switch {
	case k == nil:
	case m.Kind == wire.Response && s.Request() != nil && s.Request() == k.prompt:
		c.forget(s, k)
	case m.Kind == wire.Request && k.session.Running() == k.prompt:
		c.owes(s, k, s.Asked())
	}
}

func (c *Shim) forget(s *proxy.Step, k *asked) {
	delete(c.asked, k.session.ID())
	s.After(0, "asked "+k.session.ID())
}

// unanswered answers the permission requests that the client has not answered
// in the grace period, whatever it has asked for since.
func (c *Shim) unanswered(s *proxy.Step, id string) {
	k := c.asked[id]
	if k == nil {
		return
	}
	open := k.session.Asked()
	for _, x := range k.due {
		for _, y := range open {
			if x == y {
				c.settle(s, x)
				s.Log(slog.LevelInfo, "a permission request of a cancelled turn was not answered by the client and is answered for it", "session", id)
			}
		}
	}
	k.due, k.fresh = k.fresh, nil
	switch {
	case len(k.due) > 0:
		s.After(c.opt.Grace, "asked "+id)
	case k.session.Running() != k.prompt:
		delete(c.asked, id)
	}
}
