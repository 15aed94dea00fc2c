package cancelshim

import (
	"bytes"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// turn is a turn that is being cancelled.
type turn struct {
	session *proxy.Session
	prompt  *proxy.Request
	asks    []*proxy.Request // cancels that want an answer
	updates int              // that came since
	tools   bool             // a tool was running at some time since
	asked   bool             // the agent waited for the client, and was told of the cancel
	killed  bool
	early   bool          // the client has its answer, and the agent has not ended it
	stalled time.Duration // how long it was silent, where that is why
}

// ended tells that the prompt was answered past the Shim, as one is whose answer
// is longer than a frame may be.
func (t *turn) ended() bool { return !t.killed && t.session.Running() != t.prompt }

// noSuchMethod is JSON-RPC's code for a method that the peer does not have.
const noSuchMethod = -32601

const cancelled = `{"stopReason":"cancelled"}`

// begin settles what the agent has open at the client.
func (c *Shim) begin(s *proxy.Step, sess *proxy.Session) *turn {
	t := &turn{session: sess, prompt: sess.Running(), tools: len(sess.Tools()) > 0}
	c.turns[sess.ID()] = t
	for _, x := range sess.Asked() {
		t.asked = true
		c.settle(s, x)
	}
	s.Cancelling(sess, true)
	s.Event(proxy.Event{Kind: "cancel", Agent: sess.Agent().Gen(), Session: sess.ID(), Text: "begins"})
	return t
}

// press starts the grace period of a turn that is cancelled, or has its process
// ended at once.
func (c *Shim) press(s *proxy.Step, t *turn) {
	sess := t.session
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
}

// result is the answer to a prompt that the agent does not give.
func (t *turn) result() string {
	if t.stalled > 0 {
		return t.stallResult()
	}
	return proxy.ResultBody(cancelled)
}

func (c *Shim) end(s *proxy.Step, t *turn, why string) {
	t.killed = true
	s.Event(proxy.Event{Kind: "cancel", Agent: t.session.Agent().Gen(), Session: t.session.ID(), Text: why})
	s.Recycle(t.session, why)
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
	if stop == "cancelled" && !t.early {
		c.failTools(s, t.session)
		// A turn that had ended by itself tells nothing of the build.
		c.opt.Memory.Note(s.Agent(), true)
	}
	s.Event(proxy.Event{Kind: "cancel", Agent: s.Agent().Gen(), Session: t.session.ID(), Text: "settled by the agent"})
	if t.stalled > 0 {
		c.stallSettled(m, stop, t)
	}
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
