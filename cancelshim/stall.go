package cancelshim

import (
	"bytes"
	"log/slog"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// StallAction is what becomes of a turn that has fallen silent.
type StallAction string

const (
	// StallLog says so in the log and leaves the turn alone.
	StallLog StallAction = "log"
	// StallSettle takes the turn as ended: the agent is asked to cancel it, and
	// after the grace period the prompt is answered whatever the agent does.
	// Its process is left alone until something waits for it.
	StallSettle StallAction = "settle"
	// StallRecycle ends the process at once, and with it whatever runs there. A
	// connection whose processes are not exclusive gets StallSettle.
	StallRecycle StallAction = "recycle"
)

// silence is how long a turn has said nothing, counted in ticks: there is one
// timer a turn, not one a frame.
type silence struct {
	session *proxy.Session
	prompt  *proxy.Request
	ticks   int
	told    bool // this silence is in the log
}

// stallTicks is into how many ticks the allowed silence is cut: a stall is seen
// at most a tenth later than it is due.
const stallTicks = 10

// prompted begins to watch a turn.
func (c *Shim) prompted(s *proxy.Step) {
	sess, r := s.Session(), s.Request()
	if sess == nil || r == nil {
		return
	}
	if t := c.turn(s, sess); t != nil && t.early {
		c.over(s, t) // a session that is not exclusive takes it at once
	}
	if c.opt.Stall <= 0 {
		return
	}
	c.silent[sess.ID()] = &silence{session: sess, prompt: r}
	s.After(c.opt.Stall/stallTicks, "stall "+sess.ID())
}

// heard notes that a session's turn is not silent.
func (c *Shim) heard(s *proxy.Step) {
	if len(c.silent) == 0 || s.Session() == nil {
		return
	}
	if w := c.silent[s.Session().ID()]; w != nil {
		w.ticks, w.told = 0, false
	}
}

func (c *Shim) tick(s *proxy.Step, id string) {
	w := c.silent[id]
	if w == nil {
		return
	}
	if w.session.Running() != w.prompt || c.turns[id] != nil {
		delete(c.silent, id) // it is over, or being cancelled
		return
	}
	s.After(c.opt.Stall/stallTicks, "stall "+id)
	a := w.session.Agent()
	if a == nil || a.Paused() || len(w.session.Asked()) > 0 {
		w.ticks = 0 // it waits for the client, and is not heard while that does not read
		return
	}
	if w.ticks++; w.ticks <= stallTicks {
		return
	}
	c.stalled(s, w)
}

func (c *Shim) stalled(s *proxy.Step, w *silence) {
	if !w.told {
		w.told = true
		s.Log(slog.LevelWarn, "a turn has fallen silent", "session", w.session.ID(), "longer than", c.opt.Stall,
			"tools", len(w.session.Tools()), "action", string(c.opt.StallAction))
		s.Event(proxy.Event{Kind: "stall", Agent: w.session.Agent().Gen(), Session: w.session.ID(), Text: string(c.opt.StallAction)})
	}
	if c.opt.StallAction == StallLog {
		return
	}
	delete(c.silent, w.session.ID())
	t := c.begin(s, w.session)
	t.stalled = c.opt.Stall
	if c.opt.StallAction == StallRecycle && s.Exclusive() {
		c.end(s, t, "it has fallen silent")
		return
	}
	c.tell(s, w.session, "the turn has fallen silent")
	s.After(c.opt.Grace, "grace "+w.session.ID())
}

// leave answers the prompt of a silent turn that the agent has not ended when
// asked to.
func (c *Shim) leave(s *proxy.Step, t *turn) {
	c.failTools(s, t.session)
	t.early = true
	s.AnswerEarly(t.prompt, t.result(), "the turn has fallen silent")
}

// stallResult is the result of a silent turn. ACP has no stop reason for it: one
// that is taken as ended has ended, one that was broken off was cancelled.
func (t *turn) stallResult() string {
	stop := "end_turn"
	if t.killed {
		stop = "cancelled"
	}
	return proxy.ResultBody(proxy.Object("stopReason", stop, "_meta."+metaKey, proxy.Raw(t.meta())))
}

// metaKey is the shim's own member of _meta.
const metaKey = "acp-shim"

func (t *turn) meta() string {
	return proxy.Object("reason", "stalled", "silentMs", t.stalled.Milliseconds(), "processEnded", t.killed)
}

// stallSettled makes the agent's own end of a silent turn say what it was: the
// client has cancelled nothing.
func (c *Shim) stallSettled(m *proxy.Message, stop string, t *turn) {
	if t.early {
		return
	}
	if stop == "cancelled" {
		whole := wire.Span{Off: bytes.IndexByte(m.Raw, '{'), End: len(m.Raw)}
		if e, ok := m.Member(whole, "result"); ok {
			m.Splice(e.Key.Off, e.Value.End-e.Key.Off, t.stallResult())
		}
		return
	}
	if meta, ok := m.At(m.Result, "_meta"); ok {
		m.Add(meta, metaKey, t.meta())
		return
	}
	m.Add(m.Result, "_meta", proxy.Object(metaKey, proxy.Raw(t.meta())))
}
