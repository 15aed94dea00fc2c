package proxy

import (
	"fmt"
	"log/slog"
	"time"
)

// Exit is how a process ended.
type Exit struct {
	// Words says it: "exited with code 3", "killed by SIGILL: ...".
	Words string
	// Stderr is the last lines that it wrote there.
	Stderr string
	// Failed tells that it never ran.
	Failed bool
}

func (c *Core) agentOf(gen int) *Agent {
	for _, a := range c.agents {
		if a.gen == gen {
			return a
		}
	}
	return nil
}

func (c *Core) spawn() *Agent {
	c.gen++
	a := &Agent{gen: c.gen, state: starting, booting: c.init != nil && !c.opening && c.agent0 != nil}
	c.agents = append(c.agents, a)
	if a.booting {
		c.fx.arm(timerKey{kind: timerStart, gen: a.gen}, startLimit)
	}
	c.fx.spawn(a.gen)
	return a
}

// primary is the process for what names no session: the oldest living one, or a
// new one.
func (c *Core) primary() *Agent {
	for _, a := range c.agents {
		if a.state < condemned && !a.retire {
			return a
		}
	}
	if c.ending || c.looping(nil) {
		return nil
	}
	return c.spawn()
}

// pick is a process that a session can be opened in, s or a new one, or nil
// where there can be none for now.
func (c *Core) pick(s *Session) *Agent {
	if c.looping(s) {
		return nil
	}
	for _, a := range c.agents {
		if a.free() {
			return a
		}
	}
	if c.ending {
		return nil
	}
	c.standby = true
	if c.living() >= c.opt.MaxAgents && !c.evict() {
		return nil
	}
	return c.spawn()
}

func (c *Core) living() int {
	n := 0
	for _, a := range c.agents {
		if a.state < condemned {
			n++
		}
	}
	return n
}

// evict ends the process of the session that is idle and was used the longest
// ago.
func (c *Core) evict() bool {
	oldest := c.oldestIdle(false)
	if oldest == nil {
		// A command in the background has no end that the agent tells of: it
		// must not keep others waiting for good.
		oldest = c.oldestIdle(true)
	}
	if oldest == nil {
		return false
	}
	c.fx.log(slog.LevelInfo, "a process is ended to make room; its session is loaded again on its next use", "session", oldest.id, "tools", len(oldest.tools))
	c.retire(oldest.agent, "makes room")
	return true
}

// oldestIdle is the idle session that was used the longest ago, among those in
// which no tool is open unless tools are to be put up with.
func (c *Core) oldestIdle(tools bool) *Session {
	var oldest *Session
	for _, s := range c.sessions {
		if !s.spare() || len(s.queue) > 0 || !tools && (len(s.tools) > 0 || s.unwinding()) {
			continue
		}
		if oldest == nil || s.lastUse < oldest.lastUse {
			oldest = s
		}
	}
	return oldest
}

// newSession sends a session/new to a process that is free.
func (c *Core) newSession(m *Message, r *Request, again bool) {
	a := c.pick(nil)
	if a == nil {
		c.starve(nil, m, r, again)
		return
	}
	a.reserved++
	r.room = a
	c.send(a, m, r, again)
}

// starve keeps a frame until a process is free, or refuses it while processes
// keep crashing.
func (c *Core) starve(s *Session, m *Message, r *Request, again bool) {
	if c.looping(s) || c.ending {
		if m != nil {
			c.refuse(m, r, c.crashText(s), again)
		} else if s != nil {
			s.failure = c.crashText(s)
			s.state, s.starved = Failed, false
			c.failQueue(s)
		}
		return
	}
	if !c.crowded {
		// Once, and not each time that what waits has tried again in vain.
		c.crowded = true
		c.fx.log(slog.LevelWarn, "all agent processes run turns; a request waits for one of them", "max-agents", c.opt.MaxAgents)
	}
	if s != nil {
		s.starved = true
	}
	if m == nil {
		return // it waits in its session
	}
	h := c.wait(m, r, again)
	if s != nil {
		s.state = Cold
		s.queue = append([]*held{h}, s.queue...)
		return
	}
	c.waiting = append(c.waiting, h)
}

// turnOver lets what waits for a process try again.
func (c *Core) turnOver() {
	waiting := c.waiting
	c.waiting = nil
	for _, h := range waiting {
		c.release(h)
	}
	if !c.policy.Exclusive {
		return
	}
	crowded := len(c.waiting) > 0
	for _, s := range c.sessions {
		if s.starved {
			s.starved = false
			c.wake(s)
			crowded = crowded || s.starved
		}
	}
	c.crowded = c.crowded && crowded
}

// settled is called when a session may have become one whose process can be
// ended to make room: what waits for that tries again.
func (c *Core) settled() {
	if c.policy.Exclusive && c.living() >= c.opt.MaxAgents {
		c.turnOver()
	}
}

// freed is called when a process may have nothing left to hold.
func (c *Core) freed(a *Agent) {
	if a.state >= condemned || len(a.sessions) > 0 || a.reserved > 0 {
		return
	}
	if c.policy.Exclusive {
		c.turnOver()
		if c.opt.IdleTimeout > 0 && a.free() && a.gen > 1 {
			c.fx.arm(timerKey{kind: timerIdle, gen: a.gen}, c.opt.IdleTimeout)
		}
	}
}

// keepStandby starts a process ahead of need, once one would have been of use.
func (c *Core) keepStandby() {
	if !c.opt.Standby || !c.standby || !c.policy.Exclusive || c.ending || c.crashes > 0 || c.living() >= c.opt.MaxAgents {
		return
	}
	for _, a := range c.agents {
		if a.free() {
			return
		}
	}
	c.spawn()
}

// How long a process gets: where somebody waits for its end, and where nobody
// does and it may put its things away.
const (
	hard time.Duration = 1
	soft time.Duration = 5
)

// condemn ends a process by the ladder: its input is closed at once, then it is
// asked, then its whole tree is killed. What it says from now on touches
// nothing.
func (c *Core) condemn(a *Agent, why string, pace time.Duration) {
	if a.state >= condemned {
		return
	}
	was := a.state
	a.state, a.why = condemned, why
	c.fx.disarm(timerKey{kind: timerStart, gen: a.gen})
	c.fx.disarm(timerKey{kind: timerIdle, gen: a.gen})
	c.fx.disarm(timerKey{kind: timerAnswer, gen: a.gen})
	lost := 0
	if was > starting {
		lost = c.fx.discard(a.gen)
	}
	c.event(&Event{Kind: "condemn", Agent: a.gen, Text: why, Data: []byte(fmt.Sprintf(`{"unsent":%d}`, lost))})
	c.fx.log(slog.LevelInfo, "a process is ended", "agent", a.gen, "why", why)
	a.unsent += lost
	c.ladder(a, pace)
	for _, s := range a.sessions {
		s.restore.lost = s.state == Restoring
		s.state = Killing
	}
}

// ladder arms what follows the end of a process's input.
func (c *Core) ladder(a *Agent, pace time.Duration) {
	a.soft = pace > hard
	c.fx.arm(timerKey{kind: timerTerm, gen: a.gen}, pace*termAfter)
	c.fx.arm(timerKey{kind: timerKill, gen: a.gen}, pace*killAfter)
	c.fx.arm(timerKey{kind: timerStuck, gen: a.gen}, pace*stuckAfter)
}

// hurry ends a process that was given time, since something waits for its end.
func (c *Core) hurry(a *Agent) {
	if a != nil && a.state == condemned && a.soft {
		c.ladder(a, hard)
	}
}

// recycle ends the process of a session and starts the next one at once, so
// that it is ready when the old one is dead.
func (c *Core) recycle(s *Session, why string) {
	if s == nil || s.agent == nil || s.agent.state >= condemned {
		return
	}
	s.revive = true
	c.condemn(s.agent, why, hard)
	for _, a := range c.agents {
		if a.free() {
			return
		}
	}
	if c.policy.Exclusive && !c.ending && c.living() < c.opt.MaxAgents {
		c.standby = true
		c.spawn()
	}
}

// retire ends a process that runs nothing, softly; its sessions are Cold when it
// is gone.
func (c *Core) retire(a *Agent, why string) {
	if a.state == starting {
		a.retire = true
		return
	}
	c.condemn(a, why, soft)
}

// stuck is the event that a killed process has not died in time. Nobody shall
// wait longer for what it was asked. What is asked next of its sessions waits a
// while: a process needs a processor to die on, and where agents work, all are
// busy at times. Its sessions are not loaded elsewhere while it lives.
func (c *Core) stuck(gen int) {
	a := c.agentOf(gen)
	if a == nil || a.state != condemned {
		return
	}
	if a.Stuck {
		c.fx.log(slog.LevelError, "a process does not die", "agent", gen, "pid", a.pid)
		for _, s := range a.sessions {
			s.state = Stuck
			c.pump(s)
		}
		return
	}
	a.Stuck = true
	c.exitChain(a)
	c.failRequests(a, "acp-shim: "+fmt.Sprintf("the agent process (pid %d) was killed and has not died yet", a.pid))
	for _, s := range a.sessions {
		s.running, s.cancelling = nil, false
	}
	c.fx.arm(timerKey{kind: timerStuck, gen: gen}, hopelessAfter)
}

func (c *Core) stuckText(s *Session) string {
	return fmt.Sprintf("acp-shim: the agent process that holds session %s (pid %d) was killed and does not die; end it, then try again, or start a new session", s.id, s.agent.pid)
}

// startTimeout is the event that a process has not become ready.
func (c *Core) startTimeout(gen int) {
	a := c.agentOf(gen)
	if a == nil || a.state >= ready {
		return
	}
	limit := startLimit
	if !a.booting {
		limit = openLimit
	}
	a.cause = fmt.Sprintf("it did not answer initialize within %d s", int(limit/time.Second))
	c.fx.log(slog.LevelError, "an agent process did not become ready", "agent", gen)
	c.condemn(a, "start timed out", hard)
}

// limit gives a process little time for what takes none. Nothing else would tell
// of one that hangs while no turn runs: a session that is being closed there would
// be closed for everybody.
func (c *Core) limit(a *Agent, r *Request) {
	switch r.Method {
	case mClose, mDelete, mSetMode, mSetConfig, mSetModel:
	default:
		return
	}
	if !c.policy.Exclusive || r.session == nil || r.session.agent != a {
		return
	}
	r.small = true
	if a.small++; a.small == 1 {
		c.fx.arm(timerKey{kind: timerAnswer, gen: a.gen}, smallLimit)
	}
}

// unlimit is called when such a request has its answer.
func (c *Core) unlimit(r *Request) {
	if !r.small {
		return
	}
	r.small = false
	k := timerKey{kind: timerAnswer, gen: r.agent.gen}
	c.fx.disarm(k)
	if r.agent.small--; r.agent.small > 0 && r.agent.state < condemned {
		c.fx.arm(k, smallLimit)
	}
}

// answerTimeout is the event that a process has not answered such a request.
func (c *Core) answerTimeout(gen int) {
	if a := c.agentOf(gen); a != nil && a.state < condemned {
		a.cause = fmt.Sprintf("it did not answer within %d s what takes no time", int(smallLimit/time.Second))
		c.fx.log(slog.LevelError, "an agent process hangs; it is ended", "agent", gen)
		c.condemn(a, "hangs", hard)
	}
}

// idleTimeout is the event that a session, or a process, was idle for long.
func (c *Core) idleTimeout(k timerKey) {
	if k.gen > 0 {
		if a := c.agentOf(k.gen); a != nil && a.free() && a.open == 0 && c.living() > 1 {
			c.retire(a, "idle")
		}
		return
	}
	s := c.sessions[k.name]
	if s == nil || !s.spare() {
		return
	}
	if len(s.tools) > 0 {
		// A command of the user's may run in the background there.
		c.settleIfIdle(s)
		return
	}
	c.retire(s.agent, "idle")
}
