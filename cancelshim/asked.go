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
	prompt  *proxy.Request
}

// ask notes a cancel that is on its way to the agent.
func (c *Shim) ask(s *proxy.Step) {
	sess := s.Session()
	if sess == nil || sess.Running() == nil || sess.Agent() == nil {
		return
	}
	c.asked[sess.ID()] = &asked{session: sess, prompt: sess.Running()}
	s.After(c.opt.Grace, "asked "+sess.ID())
}

// asks sees what an agent does that was asked to cancel a turn.
func (c *Shim) asks(s *proxy.Step, m *proxy.Message) {
	if s.Session() == nil {
		return
	}
	k := c.asked[s.Session().ID()]
	switch {
	case k == nil:
	case m.Kind == wire.Response && s.Request() == k.prompt:
		delete(c.asked, s.Session().ID())
	case m.Kind == wire.Request:
		s.After(c.opt.Grace, "asked "+s.Session().ID())
	}
}

// unanswered answers the permission requests that the client has not answered
// in the grace period.
func (c *Shim) unanswered(s *proxy.Step, id string) {
	k := c.asked[id]
	if k == nil {
		return
	}
	if k.session.Running() != k.prompt {
		delete(c.asked, id)
		return
	}
	for _, x := range k.session.Asked() {
		if x.Method == acp.ClientMethodSessionRequestPermission {
			c.settle(s, x)
			s.Log(slog.LevelInfo, "a permission request of a cancelled turn was not answered by the client and is answered for it", "session", id)
		}
	}
}
