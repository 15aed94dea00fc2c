package cancelshim

import (
	"bytes"
	"log/slog"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Shim is the interceptor. Its methods run under the loop's lock.
type Shim struct {
	opt       Options
	turns     map[string]*turn
	asked     map[string]*asked         // cancels that only the agent carries out
	silent    map[string]*silence       // turns that run, where silence is watched
	told      map[*proxy.Agent]int      // cancels that it has been sent as notifications
	terminals map[string]*proxy.Session // by the text of their ids
	owner     map[string]*proxy.Agent
}

// New makes the interceptor.
func New(opt Options) *Shim {
	if opt.Mode == "" {
		opt.Mode = Auto
	}
	if opt.Grace <= 0 {
		opt.Grace = DefaultGrace
	}
	if opt.Memory == nil {
		opt.Memory = &volatile{}
	}
	if opt.StallAction == "" {
		opt.StallAction = StallLog
	}
	return &Shim{opt: opt, turns: map[string]*turn{}, asked: map[string]*asked{}, silent: map[string]*silence{}, told: map[*proxy.Agent]int{}, terminals: map[string]*proxy.Session{}, owner: map[string]*proxy.Agent{}}
}

// Fatal marks that a frame of a turn must not pass a Shim that has panicked.
func (*Shim) Fatal() {}

// FromClient takes cancels, and sees which terminals the client has opened.
func (c *Shim) FromClient(s *proxy.Step, m *proxy.Message) {
	switch {
	case m.Method == acp.AgentMethodSessionPrompt:
		c.prompted(s)
	case m.Method == acp.AgentMethodSessionCancel && !s.Own():
		c.cancel(s, m, s.Request())
	case m.Method == acp.AgentMethodSessionCancel:
		c.cancel(s, m, nil)
	case m.Method == "$/cancel_request":
		c.cancelRequest(s)
	case m.Kind == wire.Response && s.Asked() != nil:
		c.heard(s)
		if s.Asked().Method != acp.ClientMethodTerminalCreate || !s.Exclusive() {
			return
		}
		if id := gjson.GetBytes(m.Text(m.Result), "terminalId"); id.Exists() && s.Session() != nil {
			c.terminals[id.Raw], c.owner[id.Raw] = s.Session(), s.Agent()
		}
	}
}

// cancel begins to cancel the session's turn. ask is the request to be answered
// when that is done, nil for a notification.
func (c *Shim) cancel(s *proxy.Step, m *proxy.Message, ask *proxy.Request) {
	sess := s.Session()
	if !s.Exclusive() {
		c.ask(s)
		return
	}
	if sess == nil {
		c.nothing(s, ask, "cancel for a session that is not known")
		return
	}
	for _, r := range sess.HeldPrompts() {
		s.Answer(r, proxy.ResultBody(cancelled), "cancelled while held")
	}
	if sess.Native() && sess.Running() == nil {
		// Nobody but the agent knows whether a turn runs.
		if ask != nil {
			c.tell(s, sess, "as a notification")
			c.nothing(s, ask, "sent as a notification")
		}
		return
	}
	t := c.turn(s, sess)
	switch {
	case t != nil && t.early:
		c.nothing(s, ask, "its turn is over for the client")
	case t != nil:
		c.takeOver(s, t)
		c.wants(s, t, ask)
		s.Hold("cancelled already")
	case sess.Running() == nil || sess.Agent() == nil:
		c.nothing(s, ask, "no turn runs")
	default:
		t = c.begin(s, sess)
		c.press(s, t)
		c.wants(s, t, ask)
		if t.killed {
			s.Hold("cancelled by ending the process")
		} else if ask != nil {
			// ACP has it as a notification; the server knows it as nothing else.
			m.Delete(wire.Span{Off: bytes.IndexByte(m.Raw, '{'), End: len(m.Raw)}, "id")
		}
		if !t.killed {
			c.told[sess.Agent()]++
		}
	}
}

// turn is the turn of the session that is being cancelled, nil for none.
func (c *Shim) turn(s *proxy.Step, sess *proxy.Session) *turn {
	t := c.turns[sess.ID()]
	if t != nil && t.ended() {
		c.over(s, t)
		return nil
	}
	return t
}

// wants notes a cancel that wants an answer, which it gets when the turn is over.
func (c *Shim) wants(s *proxy.Step, t *turn, ask *proxy.Request) {
	if ask == nil {
		return
	}
	if t.asks = append(t.asks, ask); len(t.asks) == 1 {
		s.After(answerWithin, "answer "+t.session.ID())
	}
}

// takeOver has the client cancel a turn that was being settled for its silence:
// what comes of it is a cancelled turn then.
func (c *Shim) takeOver(s *proxy.Step, t *turn) {
	if t.stalled == 0 || t.early || t.killed {
		return
	}
	t.stalled = 0
	s.After(0, "grace "+t.session.ID())
	if s.Exclusive() {
		c.press(s, t)
	} else {
		c.over(s, t) // it is the agent's to end it
	}
}

// cancelRequest cancels the turn whose prompt a $/cancel_request names, since
// of the agents known only one honours that for a prompt.
func (c *Shim) cancelRequest(s *proxy.Step) {
	sess, r := s.Session(), s.Request()
	if sess == nil || r == nil || sess.Running() != r {
		return
	}
	if t := c.turn(s, sess); t != nil {
		c.takeOver(s, t)
		return
	}
	if !s.Exclusive() {
		return
	}
	t := c.begin(s, sess)
	if c.press(s, t); !t.killed {
		c.tell(s, sess, "for $/cancel_request")
	}
}

// tell sends the agent a cancel that the client has not sent as such.
func (c *Shim) tell(s *proxy.Step, sess *proxy.Session, why string) {
	if s.Exclusive() {
		c.told[sess.Agent()]++
	}
	s.ToAgent(sess.Agent(), proxy.Notice(acp.AgentMethodSessionCancel, proxy.Object("sessionId", sess.AgentID())), why)
}

func (c *Shim) nothing(s *proxy.Step, ask *proxy.Request, why string) {
	s.Drop(why)
	if ask != nil {
		s.Answer(ask, proxy.ResultBody("{}"), why)
	}
}

// settle answers a request of the agent's in the place of a client that may
// never do so: gemini does not end a turn before it has the answer.
func (c *Shim) settle(s *proxy.Step, x *proxy.Asked) {
	body := proxy.ErrorBody(proxy.CodeCancelled, "the turn was cancelled", nil)
	if x.Method == acp.ClientMethodSessionRequestPermission {
		body = proxy.ResultBody(`{"outcome":{"outcome":"cancelled"}}`)
	}
	s.Settle(x, body, "the turn is being cancelled")
}

// FromAgent sees how a turn that is being cancelled ends.
func (c *Shim) FromAgent(s *proxy.Step, m *proxy.Message) {
	if m.Method == acp.ClientMethodTerminalRelease {
		id := gjson.GetBytes(m.Text(m.Params), "terminalId").Raw
		delete(c.terminals, id)
		delete(c.owner, id)
	}
	c.heard(s)
	if len(c.asked) > 0 {
		c.asks(s, m)
	}
	if len(c.told) > 0 && m.Kind == wire.Response && c.told[s.Agent()] > 0 && refuses(m) {
		c.told[s.Agent()]--
		s.Drop("it has no cancel, and says so of one that wanted no answer")
		return
	}
	if len(c.turns) == 0 || s.Session() == nil {
		return
	}
	t := c.turn(s, s.Session())
	if t == nil || s.Session().Agent() != s.Agent() {
		return
	}
	switch m.Kind {
	case wire.Notification:
		t.updates++
		t.tools = t.tools || len(t.session.Tools()) > 0
		if t.early {
			s.Drop("the turn is over for the client")
		}
	case wire.Request:
		t.asked = true
		c.settle(s, s.Asked())
		s.Drop("the turn is being cancelled")
	case wire.Response:
		if s.Request() == t.prompt {
			c.settled(s, m, t)
		}
	}
}

// refuses tells an error that answers nothing. To a cancel, which wants no
// answer, codex says that it has no such method with an error that has no id.
func refuses(m *proxy.Message) bool {
	e := gjson.ParseBytes(m.Text(m.Error))
	of := e.Get("data.method")
	return m.Error.Found() && (!m.ID.Found() || string(m.Text(m.ID)) == "null") &&
		e.Get("code").Int() == noSuchMethod && (!of.Exists() || of.Str == acp.AgentMethodSessionCancel)
}

// Timer ends a grace period, and the patience of a cancel that wants an answer.
func (c *Shim) Timer(s *proxy.Step, key string) {
	what, id, _ := bytes.Cut([]byte(key), []byte(" "))
	switch string(what) {
	case "stall":
		c.tick(s, string(id))
		return
	case "asked":
		c.unanswered(s, string(id))
		return
	}
	t := c.turns[string(id)]
	if t == nil {
		return
	}
	if string(what) == "answer" {
		for _, ask := range t.asks {
			s.Answer(ask, proxy.ResultBody("{}"), "not settled in time")
		}
		t.asks = nil
		return
	}
	if t.ended() {
		c.over(s, t)
		return
	}
	if t.killed || t.session.Agent() == nil || t.session.Agent().Condemned() {
		return
	}
	if t.stalled > 0 {
		c.leave(s, t)
		return
	}
	if t.updates > 0 && !t.tools {
		c.opt.Memory.Note(t.session.Agent(), false)
	}
	s.Log(slog.LevelInfo, "the agent has not honoured a cancel in time; its process is replaced", "session", t.session.ID(), "grace", c.opt.Grace)
	c.end(s, t, "not honoured in time")
}

// Exit answers the turns that were being cancelled in a process that is gone,
// whether it was ended for that or died of it.
func (c *Shim) Exit(s *proxy.Step, a *proxy.Agent) {
	delete(c.told, a)
	if !s.Exclusive() {
		for id, t := range c.turns {
			if t.session.Agent() == a {
				delete(c.turns, id)
			}
		}
		for id, k := range c.asked {
			if k.session.Agent() == a {
				delete(c.asked, id)
			}
		}
		return
	}
	s.Sessions(func(sess *proxy.Session) {
		if t := c.turns[sess.ID()]; sess.Agent() == a && sess.Running() != nil && (t == nil || !t.early) {
			c.failTools(s, sess)
		}
	})
	for id, owner := range c.owner {
		if owner != a {
			continue
		}
		params := proxy.Object("sessionId", c.terminals[id].ID(), "terminalId", proxy.Raw(id))
		s.Ask(acp.ClientMethodTerminalKill, params, "its agent is gone")
		s.Ask(acp.ClientMethodTerminalRelease, params, "its agent is gone")
		delete(c.terminals, id)
		delete(c.owner, id)
	}
	for _, t := range c.turns {
		if t.session.Agent() != a {
			continue
		}
		t.killed = true // as it turns out
		s.Answer(t.prompt, t.result(), "cancelled")
		c.over(s, t)
	}
}
