package proxy

import (
	"bytes"
	"fmt"
	"log/slog"

	"github.com/tidwall/gjson"
)

// start is the event that the shim has started: the first process is started
// before anybody asks, so that the first answer comes sooner.
func (c *Core) start() { c.spawn() }

// initialize takes the client's initialize.
func (c *Core) initialize(m *Message, r *Request) {
	a := c.primary()
	if a == nil {
		c.refuse(m, r, c.crashText(nil), false)
		return
	}
	c.opening = c.opening || c.agent0 == nil
	if c.agent0 == nil {
		c.init = bytes.Clone(m.Raw)
	}
	if c.opt.Policy != nil {
		c.fx.arm(timerKey{kind: timerStart, gen: a.gen}, openLimit)
	}
	c.send(a, m, r, false)
	if a.state == fresh {
		a.state = initializing
	}
}

// started is the event that a process runs.
func (c *Core) started(gen, pid int) {
	a := c.agentOf(gen)
	if a == nil {
		return
	}
	a.pid = pid
	c.event(&Event{Kind: "spawn", Agent: gen, Data: []byte(fmt.Sprintf(`{"pid":%d}`, pid))})
	if a.state == condemned {
		c.fx.discard(gen)
		return
	}
	a.state = fresh
	if a.retire {
		a.retire = false
		c.retire(a, "not wanted any more")
		return
	}
	if c.ending {
		c.condemn(a, "the client is gone", soft)
		return
	}
	if a.booting {
		a.state = initializing
		var m Message
		m.Parse(c.init)
		c.ask(a, nil, mInitialize, string(m.Text(m.Params)), func(m *Message, failure string) { c.booted(a, m, failure) })
		return
	}
	c.flush(a)
}

// flush sends what waited for a process.
func (c *Core) flush(a *Agent) {
	queue := a.queue
	a.queue = nil
	for _, h := range queue {
		c.unhold(h)
		if h.request != nil && h.request.answered {
			continue
		}
		c.send(a, h.m, h.request, true)
		if h.m.Method == mInitialize && a.state == fresh {
			a.state = initializing
		}
	}
	c.tryEnd()
}

// booted takes the answer to the shim's own initialize.
func (c *Core) booted(a *Agent, m *Message, failure string) {
	if failure != "" || a.state >= condemned {
		return
	}
	if !m.Result.Found() {
		a.cause = "it refused initialize: " + gjson.GetBytes(m.Text(m.Error), "message").Str
		c.condemn(a, "refused initialize", hard)
		return
	}
	a.introduced(m.Text(m.Result))
	var auth Message
	auth.Parse(c.auth)
	if method, ok := auth.At(auth.Params, "methodId"); ok && c.policy.RepeatAuth != nil && c.policy.RepeatAuth(auth.String(method)) {
		c.ask(a, nil, mAuthenticate, string(auth.Text(auth.Params)), func(m *Message, failure string) {
			if failure == "" && !m.Result.Found() {
				c.fx.log(slog.LevelWarn, "authenticate was refused on a new process", "agent", a.gen,
					"reason", gjson.GetBytes(m.Text(m.Error), "message").Str)
			}
			if failure == "" {
				c.becomeReady(a)
			}
		})
		return
	}
	c.becomeReady(a)
}

func (c *Core) becomeReady(a *Agent) {
	if a.state >= condemned {
		return
	}
	c.fx.disarm(timerKey{kind: timerStart, gen: a.gen})
	a.booting, a.state = false, ready
	c.flush(a)
	for _, s := range append([]*Session(nil), a.sessions...) {
		if s.state == Restoring && !s.restore.sent && s.agent == a {
			c.sendLoad(s, c.loadMethod(a))
		}
	}
	if a.free() {
		c.freed(a)
	}
}

// initialized takes the answer to the client's initialize.
func (c *Core) initialized(a *Agent, r *Request, m *Message) {
	c.fx.disarm(timerKey{kind: timerStart, gen: a.gen})
	if m.Result.Found() {
		a.introduced(m.Text(m.Result))
		a.state = ready
		c.agent0 = a.info
		c.init = bytes.Clone(r.orig)
		if !c.decided {
			c.decided = true
			c.policy = c.opt.Policy(a.info)
			if c.policy.Exclusive && !canResume(a.info) && !gjson.GetBytes(a.info, "agentCapabilities.loadSession").Bool() {
				c.fx.log(slog.LevelWarn, "the agent can neither load nor resume a session: one process holds all of them")
				c.policy.Exclusive = false
			}
			if c.policy.Exclusive {
				c.fx.recall()
			}
		}
	}
	c.openGate()
}

func (c *Core) openGate() {
	c.opening = false
	gate := c.gate
	c.gate = nil
	for _, h := range gate {
		c.unhold(h)
		if h.request != nil && h.request.answered {
			continue
		}
		switch {
		case h.m.Method == mCancel:
			c.cancel(h.m, h.request, true)
		case h.m.Method == mCancelRequest && c.cancelRequest(h.m, true):
		default:
			c.route(h.m, h.request, true)
		}
	}
	c.tryEnd()
}

// authChanged retires the processes that know nothing of a login or a logout:
// the agent reads its settings when it starts.
func (c *Core) authChanged(a *Agent, r *Request) {
	c.auth = nil
	if r.Method == mAuthenticate {
		c.auth = bytes.Clone(r.orig)
	}
	c.renew("the login has changed", a)
}

// gone is the event that a process is dead and has said its last.
func (c *Core) gone(gen int, e Exit) {
	a := c.agentOf(gen)
	if a == nil {
		return
	}
	wanted := a.state == condemned || c.ending
	a.state, a.exit, a.stderr = dead, e.Words, e.Stderr
	for i, x := range c.agents {
		if x == a {
			c.agents = append(c.agents[:i:i], c.agents[i+1:]...)
		}
	}
	for _, k := range []timerKind{timerTerm, timerKill, timerStuck, timerStart, timerIdle, timerBlocked, timerAnswer} {
		c.fx.disarm(timerKey{kind: k, gen: gen})
	}
	a.unsent += c.fx.unsent(gen)
	c.event(&Event{Kind: "exit", Agent: gen, Text: e.Words, Data: []byte(fmt.Sprintf(`{"unsent":%d}`, a.unsent))})
	c.fx.log(slog.LevelInfo, "a process is gone", "agent", gen, "exit", e.Words, "wanted", wanted)
	text := c.exitText(a, e, wanted)
	c.lastExit = text
	for _, s := range a.sessions {
		s.exit = text
	}
	if !wanted && !c.ending && !a.cancelling() {
		c.countCrash(a)
	}
	c.exitChain(a)
	sessions := a.sessions
	a.sessions = nil
	for _, s := range sessions {
		if s.agent == a {
			c.lost(s)
		}
	}
	c.failRequests(a, text)
	c.failQueued(a, text)
	for _, s := range sessions {
		c.wake(s)
	}
	if c.ending {
		c.ended()
		return
	}
	c.turnOver()
	for _, s := range sessions {
		c.revive(s)
	}
	c.tryEnd()
}

func (c *Core) exitChain(a *Agent) {
	for i := len(c.chain) - 1; i >= 0; i-- {
		s := c.step()
		s.agent = a
		c.call(s, i, func(ic Interceptor, s *Step) { ic.Exit(s, a) })
		c.done(s)
	}
}

// lost takes a dead process off a session.
func (c *Core) lost(s *Session) {
	was := s.state
	s.agent, s.cancelling, s.tools = nil, false, nil
	if h := s.restore.first; h != nil {
		// It waits for the claim, and is tried again with another process.
		s.queue = append([]*held{h}, s.queue...)
		s.restore.first = nil
	}
	if s.state == Running || s.state == Killing {
		// Its prompt is answered with the other requests.
		s.running = nil
	}
	c.fx.disarm(timerKey{kind: timerLoad, name: s.id})
	s.state = Cold
	if was == Restoring || s.restore.lost || was == Killing && s.restore.sent {
		tries := s.restore.tries + 1
		answer := s.restore.answer
		s.restore = restore{tries: tries}
		if tries > 1 && answer == nil {
			s.restore = restore{}
			c.failSession(s, fmt.Sprintf("acp-shim: session %s could not be opened again: %s", s.id, c.lastExit))
		}
	} else {
		s.restore = restore{}
	}
	if s.open == nil && s.state == Cold && len(s.queue) == 0 {
		c.forgetSession(s)
	}
}

// failRequests answers what a dead process owes.
func (c *Core) failRequests(a *Agent, text string) {
	var list []*Request
	for _, r := range c.requests.all() {
		if r.agent == a {
			list = append(list, r)
		}
	}
	sortRequests(list)
	for _, r := range list {
		c.unwound(r)
		if s := r.session; r.Method == mClose && s != nil && s.closing == r {
			// It is closed, in a way.
			s.closing = nil
			c.answer(r, ResultBody("{}"), "its process is gone")
			c.closed(s)
			continue
		}
		c.answer(r, ErrorBody(CodeInternal, text, c.exitData(a)), "the agent is gone")
	}
	for id, r := range c.own {
		if r.agent == a {
			delete(c.own, id)
			r.own(nil, text)
		}
	}
	for _, x := range a.asked {
		x.settled = true
	}
	a.asked = nil
}

func (c *Core) failQueued(a *Agent, text string) {
	queue := a.queue
	a.queue = nil
	for _, h := range queue {
		c.unhold(h)
		if h.request != nil {
			c.answer(h.request, ErrorBody(CodeInternal, text, c.exitData(a)), "the agent is gone")
		}
	}
	if !c.opening || c.agent0 != nil {
		return
	}
	for _, r := range c.requests.all() {
		if r.Method == mInitialize {
			return // another process will answer it
		}
	}
	c.openGateFailed(text, a)
}

// openGateFailed answers what waited for an initialize that will not come.
func (c *Core) openGateFailed(text string, a *Agent) {
	c.opening = false
	gate := c.gate
	c.gate = nil
	for _, h := range gate {
		c.unhold(h)
		if h.request != nil {
			c.answer(h.request, ErrorBody(CodeInternal, text, c.exitData(a)), "the agent is gone")
		}
	}
}
