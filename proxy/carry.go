package proxy

import (
	"context"
	"log/slog"
	"time"
)

// The core's effects, carried out. All run under the lock.

func (l *Loop) toClient(line []byte) {
	if len(l.out.view) == 0 && len(l.out.batch) == 0 {
		l.dirty = append(l.dirty, l.out)
	}
	l.out.put(line)
}

func (l *Loop) toAgent(gen int, line []byte) {
	p := l.procs[gen]
	if p == nil {
		return
	}
	if len(p.out.view) == 0 && len(p.out.batch) == 0 {
		l.dirty = append(l.dirty, p.out)
	}
	p.out.put(line)
}

// heaped sees how much waits for an agent, when it has become more.
func (l *Loop) heaped(gen int, p *proc) {
	if p.out.waiting() <= blockedAbove {
		return
	}
	if !l.deadlines.armed(timerKey{kind: timerBlocked, gen: gen}) {
		l.blocked(gen, p)
	}
	// The client's frames are refused before it is as many: these are answers.
	if !p.drowned && p.out.waiting() > heldLimit+l.cfg.MaxFrame {
		p.drowned = true
		go l.step(func() { l.core.takesNothing(gen, "the agent took no answers to what it asked") })
	}
}

func (l *Loop) spawn(gen int) { go l.attend(gen) }

func (l *Loop) closeInput(gen int) {
	if p := l.procs[gen]; p != nil {
		p.out.end()
	}
}

func (l *Loop) discard(gen int) int {
	l.condemns.Store(gen, true)
	p := l.procs[gen]
	if p == nil {
		return 0
	}
	return p.out.discard()
}

func (l *Loop) unsent(gen int) int {
	if p := l.procs[gen]; p != nil && !p.out.closed {
		return p.out.waiting()
	}
	return 0
}

func (l *Loop) terminate(gen int) {
	l.condemns.Store(gen, true)
	if p := l.procs[gen]; p != nil && !p.term {
		p.term = true
		go p.Terminate()
	}
}

func (l *Loop) kill(gen int) {
	l.condemns.Store(gen, true)
	if p := l.procs[gen]; p != nil {
		go p.Kill()
	}
}

func (l *Loop) arm(k timerKey, d time.Duration) { l.deadlines.arm(k, d) }

func (l *Loop) disarm(k timerKey) { l.deadlines.disarm(k) }

func (l *Loop) rest(k timerKey) { l.deadlines.rest(k) }

func (l *Loop) claim(id string) {
	if l.cfg.Store == nil {
		go l.step(func() { l.core.claimed(id, nil, "") })
		return
	}
	l.queueStore(func() {
		rec, err := l.cfg.Store.Claim(id)
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		l.step(func() { l.core.claimed(id, rec, failure) })
	})
}

func (l *Loop) recall() {
	if l.cfg.Store == nil {
		return
	}
	l.queueStore(func() {
		names := l.cfg.Store.Names()
		l.step(func() { l.core.recalled(names) })
	})
}

func (l *Loop) save(rec Record) {
	if l.cfg.Store == nil {
		return
	}
	rec.Config = append([]Setting(nil), rec.Config...)
	l.queueStore(func() {
		if err := l.cfg.Store.Save(rec); err != nil {
			l.log(slog.LevelWarn, "a session's settings could not be kept", "error", err.Error())
		}
	})
}

func (l *Loop) release(id string) {
	if l.cfg.Store != nil {
		l.queueStore(func() { l.cfg.Store.Release(id) })
	}
}

func (l *Loop) forget(id string) {
	if l.cfg.Store != nil {
		l.queueStore(func() { l.cfg.Store.Forget(id) })
	}
}

// queueStore does what may block outside of the lock, in order.
func (l *Loop) queueStore(f func()) {
	l.store = append(l.store, f)
	if l.storing {
		return
	}
	l.storing = true
	go func() {
		l.mu.Lock()
		for len(l.store) > 0 {
			f := l.store[0]
			l.store = l.store[1:]
			l.mu.Unlock()
			f()
			l.mu.Lock()
		}
		l.storing = false
		l.mu.Unlock()
	}()
}

func (l *Loop) finished(code int) {
	l.code = code
	close(l.finish)
}

func (l *Loop) log(level slog.Level, msg string, args ...any) {
	if l.cfg.Log != nil {
		l.cfg.Log.Log(context.Background(), level, msg, args...)
	}
}
