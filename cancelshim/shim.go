package cancelshim

import (
	"bytes"
	"log/slog"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Mode is how a cancel is made to work.
type Mode string

const (
	// Auto asks the agent, and ends its process where that does not help. For
	// a connection whose processes are not exclusive it is Native.
	Auto Mode = "auto"
	// Native asks the agent and leaves it at that.
	Native Mode = "native"
	// Emulate does not ask, and ends the process at once.
	Emulate Mode = "emulate"
)

// DefaultGrace is how long an agent has to settle a turn that was cancelled.
const DefaultGrace = time.Second

// answerWithin is when a cancel that was sent as a request is answered at the
// latest.
const answerWithin = 5 * time.Second

// Options set a Shim up.
type Options struct {
	Mode Mode
	// Grace is the time an agent has to settle a turn; 0 is DefaultGrace.
	Grace time.Duration
	// Memory remembers which builds ignore a cancel; nil for this run only.
	Memory Memory
}

// Shim is the interceptor. Its methods run under the loop's lock.
type Shim struct {
	opt       Options
	turns     map[string]*turn
	terminals map[string]*proxy.Session // by the text of their ids
	owner     map[string]*proxy.Agent
}

// turn is a turn that is being cancelled.
type turn struct {
	session *proxy.Session
	prompt  *proxy.Request
	asks    []*proxy.Request // cancels that want an answer
	updates int              // that came since
	tools   bool             // a tool was running at some time since
	asked   bool             // the agent waited for the client, and was told of the cancel
	killed  bool
}

// ended tells that the prompt was answered past the Shim, as one is whose answer
// is longer than a frame may be.
func (t *turn) ended() bool { return !t.killed && t.session.Running() != t.prompt }

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
	return &Shim{opt: opt, turns: map[string]*turn{}, terminals: map[string]*proxy.Session{}, owner: map[string]*proxy.Agent{}}
}

// Fatal marks that a frame of a turn must not pass a Shim that has panicked.
func (*Shim) Fatal() {}

const cancelled = `{"stopReason":"cancelled"}`

// FromClient takes cancels, and sees which terminals the client has opened.
func (c *Shim) FromClient(s *proxy.Step, m *proxy.Message) {
	switch {
	case m.Method == acp.AgentMethodSessionCancel && !s.Own():
		c.cancel(s, m, s.Request())
	case m.Method == acp.AgentMethodSessionCancel:
		c.cancel(s, m, nil)
	case m.Method == "$/cancel_request":
		c.cancelRequest(s)
	case m.Kind == wire.Response && s.Asked() != nil && s.Asked().Method == acp.ClientMethodTerminalCreate:
		if id := gjson.GetBytes(m.Text(m.Result), "terminalId"); id.Exists() && s.Session() != nil {
			c.terminals[id.Raw], c.owner[id.Raw] = s.Session(), s.Agent()
		}
	}
}

// cancel begins to cancel the session's turn. ask is the request to be answered
// when that is done, nil for a notification.
func (c *Shim) cancel(s *proxy.Step, m *proxy.Message, ask *proxy.Request) {
	if !s.Exclusive() {
		return
	}
	sess := s.Session()
	if sess == nil {
		c.nothing(s, ask, "cancel for a session that is not known")
		return
	}
	for _, r := range sess.HeldPrompts() {
		s.Answer(r, proxy.ResultBody(cancelled), "cancelled while held")
	}
	if sess.Native() && sess.Running() == nil {
		return // nobody but the agent knows whether a turn runs
	}
	if t := c.turns[sess.ID()]; t != nil && t.ended() {
		c.over(s, t)
	}
	if t := c.turns[sess.ID()]; t != nil {
		if ask != nil {
			t.asks = append(t.asks, ask)
			s.After(answerWithin, "answer "+sess.ID())
		}
		s.Hold("cancelled already")
		return
	}
	if sess.Running() == nil || sess.Agent() == nil {
		c.nothing(s, ask, "no turn runs")
		return
	}
	t := c.begin(s, sess)
	if ask != nil {
		t.asks = append(t.asks, ask)
		s.After(answerWithin, "answer "+sess.ID())
	}
	if t.killed {
		s.Hold("cancelled by ending the process")
		return
	}
	// ACP has it as a notification; the server knows it as nothing else.
	if m.Kind == wire.Request {
		m.Delete(wire.Span{Off: bytes.IndexByte(m.Raw, '{'), End: len(m.Raw)}, "id")
	}
}

// cancelRequest cancels the turn whose prompt a $/cancel_request names, since
// of the agents known only one honours that for a prompt.
func (c *Shim) cancelRequest(s *proxy.Step) {
	sess, r := s.Session(), s.Request()
	if !s.Exclusive() || sess == nil || r == nil || sess.Running() != r || c.turns[sess.ID()] != nil {
		return
	}
	if t := c.begin(s, sess); !t.killed {
		s.ToAgent(sess.Agent(), proxy.Notice(acp.AgentMethodSessionCancel, proxy.Object("sessionId", sess.AgentID())), "for $/cancel_request")
	}
}

// begin settles what the agent has open at the client, and either starts the
// grace period or has the process ended at once.
func (c *Shim) begin(s *proxy.Step, sess *proxy.Session) *turn {
	t := &turn{session: sess, prompt: sess.Running(), tools: len(sess.Tools()) > 0}
	c.turns[sess.ID()] = t
	for _, x := range sess.Asked() {
		t.asked = true
		c.settle(s, x)
	}
	s.Cancelling(sess, true)
	s.Event(proxy.Event{Kind: "cancel", Agent: sess.Agent().Gen(), Session: sess.ID(), Text: "begins"})
	switch {
	case sess.Native():
		// That it does not settle says nothing: its prompts are answered early.
	case c.opt.Mode == Emulate:
		c.end(s, t, "cancelled")
	case c.opt.Mode == Auto && c.opt.Memory.Ignores(sess.Agent()):
		c.end(s, t, "cancelled; this build is known to ignore it")
	case c.opt.Mode == Auto:
		s.After(c.opt.Grace, "grace "+sess.ID())
	}
	return t
}

func (c *Shim) end(s *proxy.Step, t *turn, why string) {
	t.killed = true
	s.Event(proxy.Event{Kind: "cancel", Agent: t.session.Agent().Gen(), Session: t.session.ID(), Text: why})
	s.Recycle(t.session, why)
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
	if len(c.turns) == 0 || s.Session() == nil {
		return
	}
	t := c.turns[s.Session().ID()]
	if t == nil || s.Session().Agent() != s.Agent() {
		return
	}
	switch m.Kind {
	case wire.Notification:
		t.updates++
		t.tools = t.tools || len(t.session.Tools()) > 0
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

// settled makes the agent's own answer to a cancelled prompt what clients
// expect: an error, above all a -32000, would be read as a failure or as "log
// in". A turn that had ended in the same moment keeps its answer.
func (c *Shim) settled(s *proxy.Step, m *proxy.Message, t *turn) {
	stop := gjson.GetBytes(m.Text(m.Result), "stopReason").Str
	if m.Error.Found() {
		whole := wire.Span{Off: bytes.IndexByte(m.Raw, '{'), End: len(m.Raw)}
		if e, ok := m.Member(whole, "error"); ok {
			m.Splice(e.Key.Off, e.Value.End-e.Key.Off, proxy.ResultBody(cancelled))
		}
		stop = "cancelled"
	}
	if stop == "end_turn" && t.asked {
		// It could not have ended by itself: it waited for the client.
		if at, ok := m.At(m.Result, "stopReason"); ok && m.Set(at, `"cancelled"`) {
			stop = "cancelled"
		}
	}
	if stop == "cancelled" {
		c.failTools(s, t.session)
		// A turn that had ended by itself tells nothing of the build.
		c.opt.Memory.Note(s.Agent(), true)
	}
	s.Event(proxy.Event{Kind: "cancel", Agent: s.Agent().Gen(), Session: t.session.ID(), Text: "settled by the agent"})
	c.over(s, t)
}

// failTools gives every tool call that is open the end that it will not get
// from the agent.
func (c *Shim) failTools(s *proxy.Step, sess *proxy.Session) {
	for _, id := range sess.Tools() {
		s.ToClient(proxy.Notice(acp.ClientMethodSessionUpdate, proxy.Object(
			"sessionId", sess.ID(),
			"update.sessionUpdate", "tool_call_update",
			"update.toolCallId", proxy.Raw(id),
			"update.status", "failed")), "a tool call is left open")
	}
}

func (c *Shim) over(s *proxy.Step, t *turn) {
	delete(c.turns, t.session.ID())
	s.After(0, "grace "+t.session.ID())
	s.After(0, "answer "+t.session.ID())
	for _, ask := range t.asks {
		s.Answer(ask, proxy.ResultBody("{}"), "the turn is over")
	}
}

// Timer ends a grace period, and the patience of a cancel that wants an answer.
func (c *Shim) Timer(s *proxy.Step, key string) {
	what, id, _ := bytes.Cut([]byte(key), []byte(" "))
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
	if t.updates > 0 && !t.tools {
		c.opt.Memory.Note(t.session.Agent(), false)
	}
	s.Log(slog.LevelInfo, "the agent has not honoured a cancel in time; its process is replaced", "session", t.session.ID(), "grace", c.opt.Grace)
	c.end(s, t, "not honoured in time")
}

// Exit answers the turns that were being cancelled in a process that is gone,
// whether it was ended for that or died of it.
func (c *Shim) Exit(s *proxy.Step, a *proxy.Agent) {
	if !s.Exclusive() {
		return
	}
	s.Sessions(func(sess *proxy.Session) {
		if sess.Agent() == a && sess.Running() != nil {
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
		s.Answer(t.prompt, proxy.ResultBody(cancelled), "cancelled")
		c.over(s, t)
	}
}
