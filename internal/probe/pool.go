package probe

import (
	"context"
	"slices"
	"sync"
	"time"

	"acp-shim/internal/wire"
)

// pooled is a process that nobody uses, or nil.
func (r *run) pooled() *peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.pool) > 0 {
		p := r.pool[len(r.pool)-1]
		r.pool = r.pool[:len(r.pool)-1]
		if p.running() {
			return p
		}
		go p.end(0)
	}
	if p := r.hello; p != nil {
		r.hello = nil
		if p.running() {
			return p
		}
		go p.end(0)
	}
	return nil
}

// giveBack closes what a trial has left open in a process, and keeps it for the
// next one.
func (r *run) giveBack(p *peer) {
	p.onAsk(nil)
	r.mu.Lock()
	held := r.held[p]
	delete(r.held, p)
	r.mu.Unlock()
	for _, id := range held {
		if !p.running() {
			break
		}
		if !r.ask(p, "session/close", of(id)) {
			// A turn may still run in it.
			p.spoiled.Store(true)
		}
	}
	if !p.running() {
		p.end(softEnd)
		return
	}
	r.mu.Lock()
	r.pool = append(r.pool, p)
	r.mu.Unlock()
}

// ask sends a request whose answer, error or not, does not matter. It reports
// whether there is one.
func (r *run) ask(p *peer, method, params string) bool {
	// An interrupt must not leave conversations behind.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), min(r.opt.Timeout, 10*time.Second))
	defer cancel()
	_, err := p.conn.Request(method, params).Wait(ctx)
	return err == nil
}

func (r *run) hold(p *peer, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[p] = append(r.held[p], id)
}

// opened notes a session of ours.
func (r *run) opened(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(id) <= 200 && len(r.made) < 1000 && !slices.Contains(r.made, id) {
		r.made = append(r.made, id)
	}
}

func (r *run) uncalled(p *peer, method string) {
	lines := p.conn.Lines(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.uncall) >= maxProofs {
		return
	}
	for i := len(lines) - 1; i >= 0; i-- {
		var m wire.Message
		m.Parse(lines[i].Bytes)
		if !lines[i].Sent && m.Method == method {
			r.uncall = append(r.uncall, Proof{p.seqOf(i), agentName(p.gen), r.tape.quote(lines[i].Bytes)})
			return
		}
	}
}

// findBar finds out whether a session can be opened at all, before gates that
// need one are tried.
func (r *run) findBar(wanted []*gate, report *Report) {
	if !slices.ContainsFunc(wanted, func(g *gate) bool { return g.session }) {
		return
	}
	g := sessionGate()
	var res Result
	if done := report.Gate(g.id); done != nil {
		res = *done
	} else {
		r.try(g, &res)
	}
	if res.Verdict == Pass || res.Why == WhyInterrupted {
		return
	}
	b := &bar{why: WhySession, text: "no session can be opened: " + res.Figure, next: "see the gate " + g.id}
	if res.Why == WhyLogin {
		b = &bar{why: WhyLogin, text: "the agent needs a login", next: res.Next}
	}
	r.mu.Lock()
	r.barred = b
	r.mu.Unlock()
}

// tidyUp deletes the conversations that were made, where the agent can, and
// returns those that are left.
func (r *run) tidyUp() (left []string) {
	r.mu.Lock()
	made := slices.Clone(r.made)
	r.mu.Unlock()
	if len(made) == 0 {
		return nil
	}
	// An interrupt must not leave conversations behind.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 30*time.Second)
	defer cancel()
	p := r.pooled()
	// The others may hold sessions, which nobody else may delete then.
	var others sync.WaitGroup
	for q := r.pooled(); q != nil; q = r.pooled() {
		others.Go(func() { q.end(softEnd) })
	}
	others.Wait()
	if p == nil {
		var err error
		if p, err = r.spawn(offers{}); err != nil {
			return made
		}
		if _, err := p.initialize(ctx); err != nil {
			p.end(0)
			return made
		}
	}
	defer p.end(softEnd)
	deletes := true
	for _, id := range made {
		if !deletes {
			left = append(left, id)
			continue
		}
		a, err := p.conn.Request("session/delete", of(id)).Wait(ctx)
		switch {
		case err != nil || missing(a):
			deletes = false
			left = append(left, id)
		case a.Error.Exists():
			left = append(left, id)
		}
	}
	// What could not be deleted may never have been stored, or be gone already.
	a, err := p.conn.Request("session/list", "{}").Wait(ctx)
	if list := a.Result.Get("sessions"); err == nil && list.IsArray() && !a.Result.Get("nextCursor").Exists() {
		there := map[string]bool{}
		for _, s := range list.Array() {
			there[s.Get("sessionId").Str] = true
		}
		left = slices.DeleteFunc(left, func(id string) bool { return !there[id] })
	}
	return left
}

func (r *run) killAll() {
	r.mu.Lock()
	var all []*peer
	for p := range r.live {
		all = append(all, p)
	}
	r.mu.Unlock()
	for _, p := range all {
		p.spoiled.Store(true)
		p.conn.Process.Kill()
	}
}

// close ends what still runs, and removes the directory.
func (r *run) close() {
	r.mu.Lock()
	var all []*peer
	for p := range r.live {
		all = append(all, p)
	}
	r.mu.Unlock()
	for _, p := range all {
		p.end(softEnd)
	}
	removeAll(r.dir)
}
