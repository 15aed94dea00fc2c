package proxy

import (
	"fmt"
	"log/slog"
	"sort"

	"github.com/tidwall/gjson"
)

// sortRequests puts requests in the order in which they came.
func sortRequests(list []*Request) {
	sort.Slice(list, func(i, j int) bool { return list[i].sequence < list[j].sequence })
}

// exitText says for an error what became of a process and what to do.
func (c *Core) exitText(a *Agent, e Exit, wanted bool) string {
	text := "acp-shim: the agent " + e.Words
	switch {
	case e.Failed:
		text = "acp-shim: " + e.Words
	case a.cause != "":
		text = "acp-shim: the agent was ended, since " + a.cause
	case wanted && c.since != "":
		text = "acp-shim: the agent was ended, since " + c.since
	case wanted:
		text = "acp-shim: the agent process was ended"
		if a.why != "" {
			text += " (" + a.why + "); send this again"
		}
	}
	if e.Stderr != "" && !wanted {
		text += "; its last words: " + e.Stderr
	}
	if len(a.sessions) == 1 {
		text += c.advice(e.Stderr, a.sessions[0])
	}
	return text
}

// advice is what the profile knows to do about a failure, as the end of a text.
func (c *Core) advice(text string, s *Session) string {
	if c.policy.Advise == nil {
		return ""
	}
	if advice := c.policy.Advise(text, s.id); advice != "" {
		return "; " + advice
	}
	return ""
}

// exitData is the machine's part of the same error.
func (c *Core) exitData(a *Agent) any {
	return map[string]any{"reason": "agent_gone", "agent": a.gen, "exit": a.exit}
}

func (c *Core) crashText(s *Session) string {
	if c.ending && c.since != "" {
		return "acp-shim is ending, since " + c.since
	}
	if c.ending {
		return "acp-shim is ending"
	}
	last := c.lastExit
	if s != nil && s.exit != "" {
		last = s.exit
	}
	text := fmt.Sprintf("acp-shim: the agent ended %d times within %d s and is not started again before that has passed", crashLimit, int(crashWindow.Seconds()))
	if last != "" {
		text += "; last: " + last
	}
	return text
}

// countCrash counts a process that ended by itself. One that held a single
// session may have died of that, and no other session shall wait for it. The
// session may be forgotten by the time it is opened again; its count is not.
func (c *Core) countCrash(a *Agent) {
	k := timerKey{kind: timerCrash, gen: a.gen}
	if c.policy.Exclusive && len(a.sessions) == 1 {
		k.name = a.sessions[0].id
		c.crashed[k.name]++
	} else {
		c.crashes++
	}
	c.fx.arm(k, crashWindow)
}

// calm is the event that a crash is long enough ago.
func (c *Core) calm(session string) {
	if session == "" {
		c.crashes--
		return
	}
	if c.crashed[session]--; c.crashed[session] <= 0 {
		delete(c.crashed, session)
	}
}

// looping tells that the processes of s keep crashing, or those of anybody.
func (c *Core) looping(s *Session) bool {
	return c.crashes+len(c.crashed) >= crashLimit || s != nil && c.crashed[s.id] >= crashLimit
}

// clientEOF is the event that the client has ended its output: it will ask for
// nothing more. What the agents still say goes to it until they are gone.
func (c *Core) clientEOF() {
	if c.inputEnd {
		return
	}
	c.inputEnd = true
	c.fx.arm(timerKey{kind: timerEnd}, startLimit)
	c.tryEnd()
}

// tryEnd ends the agents' inputs once the client's has ended and what it said
// while a process was starting has been sent on.
func (c *Core) tryEnd() {
	if !c.inputEnd || c.ending || c.opening && !c.decided {
		return
	}
	for _, a := range c.agents {
		if len(a.queue) > 0 {
			return
		}
	}
	c.ending = true
	for _, a := range append([]*Agent(nil), c.agents...) {
		switch {
		case a.state == starting:
			// started sees that nobody wants it any more.
		case a.booting:
			c.condemn(a, "the client is gone", soft)
		case a.state < condemned:
			c.closeSessions(a)
			c.fx.closeInput(a.gen)
		}
	}
	c.fx.arm(timerKey{kind: timerEnd}, endLimit)
	c.ended()
}

// closeSessions tells a process that its sessions are over, so that it can put
// them away.
func (c *Core) closeSessions(a *Agent) {
	if !c.policy.Exclusive || !c.policy.Close && !gjson.GetBytes(a.info, "agentCapabilities.sessionCapabilities.close").Exists() {
		return
	}
	for _, s := range a.sessions {
		if s.state == Idle {
			c.ask(a, nil, mClose, Object("sessionId", s.real), func(*Message, string) {})
		}
	}
}

// clientGone is the event that nobody reads what the shim writes.
func (c *Core) clientGone() { c.terminate(0, "the client reads no more") }

// terminate is the event that the shim was told to end: everything ends now.
func (c *Core) terminate(code int, since string) {
	if c.code == 0 {
		c.code = code
	}
	if c.since != "" {
		return // who says it again and again does not put off the kill
	}
	c.inputEnd, c.ending, c.since = true, true, since
	for _, a := range c.agents {
		if a.state < condemned {
			a.state = condemned
			c.fx.discard(a.gen)
		}
		c.fx.terminate(a.gen)
	}
	c.fx.arm(timerKey{kind: timerEnd}, endNow)
	c.ended()
}

// endTimeout is the event that processes have had their time. Sessions are given up when
// they are dead, or cannot be killed: the next shim would load what they still write.
func (c *Core) endTimeout() {
	if c.killed || len(c.agents) == 0 {
		c.finish()
		return
	}
	c.killed = true
	c.fx.arm(timerKey{kind: timerEnd}, endKill)
	for _, a := range c.agents {
		c.fx.log(slog.LevelInfo, "a process outlives the client and is killed", "agent", a.gen)
		a.state = condemned
		c.fx.discard(a.gen)
		c.fx.kill(a.gen)
	}
}

// ended finishes once the last process is gone.
func (c *Core) ended() {
	if len(c.agents) == 0 {
		c.finish()
	}
}

func (c *Core) finish() {
	if c.finished {
		return
	}
	c.finished = true
	text := "acp-shim has ended"
	if c.since != "" {
		text += ", since " + c.since
	}
	open := c.requests.all()
	sortRequests(open)
	for _, r := range open {
		c.answer(r, ErrorBody(CodeInternal, text+"; this request was not carried out to its end", nil), "the end")
	}
	for _, s := range c.sessions {
		c.disown(s)
	}
	c.fx.finished(c.code)
}

// outputEnded is the event that a process has ended its output and lives on:
// nothing can be heard of it any more.
func (c *Core) outputEnded(gen int) {
	if a := c.agentOf(gen); a != nil && a.state < condemned {
		if !c.ending {
			a.cause = "it closed its output"
		}
		c.condemn(a, "output ended", hard)
	}
}

// takesNothing is the event that a process does not read what is for it.
func (c *Core) takesNothing(gen int, cause string) {
	if a := c.agentOf(gen); a != nil && a.state < condemned {
		c.fx.log(slog.LevelError, "the agent takes no input; it is ended", "agent", a.gen)
		a.cause = cause
		c.condemn(a, "takes no input", hard)
	}
}

// inputEnded is the event that a process has ended its input and lives on:
// nothing can be asked of it any more, and what was has no answer. At the end of
// all it may still have something to say.
func (c *Core) inputEnded(gen int) {
	if a := c.agentOf(gen); a != nil && a.state < condemned && !c.ending {
		a.cause = "it closed its input"
		c.condemn(a, "input ended", hard)
	}
}
