package proxy

// Renew ends the processes that run nothing, so that the next ones read anew
// what the agent reads only when it starts. Those that are busy follow when they
// have become idle. Sessions are loaded again on their next use.
func (l *Loop) Renew(why string) { l.step(func() { l.core.renew(why, nil) }) }

// renew is Renew, but for process keep.
func (c *Core) renew(why string, keep *Agent) {
	if !c.policy.Exclusive || c.ending {
		return
	}
	for _, a := range append([]*Agent(nil), c.agents...) {
		if a == keep || a.state >= condemned {
			continue
		}
		a.stale = why
		c.renewIfIdle(a)
	}
}

// renewIfIdle ends a process that is to be renewed, once it runs nothing.
func (c *Core) renewIfIdle(a *Agent) {
	if a.stale == "" || a.state >= condemned || a.open > 0 || a.reserved > 0 {
		return
	}
	for _, s := range a.sessions {
		if s.state != Idle || len(s.queue) > 0 {
			return
		}
	}
	c.retire(a, a.stale)
}
