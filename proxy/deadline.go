package proxy

import "time"

// deadline is a timer of the core's. It belongs to the loop's lock.
type deadline struct {
	timer *time.Timer
	rings time.Time // when timer does
	due   time.Time // when the core wants to know; zero while it does not
}

// lazy tells kinds of timers that are stopped and set again with every turn, for a
// time that is long beside one. What the runtime has to do for that costs more than
// the frame; so theirs runs on, and is set for the rest when it rings too early.
func (k timerKind) lazy() bool { return k == timerIdle }

func (l *Loop) arm(k timerKey, d time.Duration) {
	a := l.deadlines[k]
	due := l.at().Add(d)
	if a == nil {
		a = &deadline{}
		l.deadlines[k] = a
		a.timer = time.AfterFunc(d, func() { l.step(func() { l.ring(k, a) }) })
	} else if !k.kind.lazy() || a.rings.After(due) {
		a.timer.Reset(d)
	} else {
		a.due = due
		return
	}
	a.rings, a.due = due, due
}

// ring is called when a deadline's timer has run out.
func (l *Loop) ring(k timerKey, a *deadline) {
	if l.deadlines[k] != a {
		return // it was stopped, and too late for the timer
	}
	if a.due.IsZero() {
		delete(l.deadlines, k)
		return
	}
	if rest := time.Until(a.due); rest > 0 {
		// It was set anew since.
		a.rings = a.due
		a.timer.Reset(rest)
		return
	}
	delete(l.deadlines, k)
	l.core.timer(k)
}

func (l *Loop) disarm(k timerKey) {
	a := l.deadlines[k]
	switch {
	case a == nil:
	case k.kind.lazy():
		a.due = time.Time{}
	default:
		a.timer.Stop()
		delete(l.deadlines, k)
	}
}

func (l *Loop) isArmed(k timerKey) bool {
	a := l.deadlines[k]
	return a != nil && !a.due.IsZero()
}

// quiet stops all of them for good.
func (l *Loop) quiet() {
	for k, a := range l.deadlines {
		a.timer.Stop()
		delete(l.deadlines, k)
	}
}
