package proxy

import "time"

// deadlines are the core's timers. They belong to the loop's lock.
type deadlines struct {
	list map[timerKey]*deadline
	// step runs a function under the lock; over is called under it when a time is up.
	step func(func())
	over func(timerKey)
}

type deadline struct {
	timer *time.Timer
	rings time.Time // when timer does
	due   time.Time // when the core wants to know; zero while it does not
}

// lazy tells kinds of timers that are stopped and set again with every turn, for a
// time that is long beside one. What the runtime has to do for that costs more than
// the frame; so theirs runs on, and is set for the rest when it rings too early.
func (k timerKind) lazy() bool { return k == timerIdle }

func (s *deadlines) arm(k timerKey, d time.Duration) {
	x := s.list[k]
	due := time.Now().Add(d)
	switch {
	case x == nil:
		x = &deadline{}
		if s.list == nil {
			s.list = map[timerKey]*deadline{}
		}
		s.list[k] = x
		x.timer = time.AfterFunc(d, func() { s.step(func() { s.ring(k, x) }) })
	case !k.kind.lazy() || x.rings.After(due):
		x.timer.Reset(d)
	default:
		x.due = due
		return
	}
	x.rings, x.due = due, due
}

// ring is called when a deadline's timer has run out.
func (s *deadlines) ring(k timerKey, x *deadline) {
	if s.list[k] != x {
		return // it was stopped, and too late for the timer
	}
	if x.due.IsZero() {
		delete(s.list, k)
		return
	}
	if rest := time.Until(x.due); rest > 0 {
		// It was set anew since.
		x.rings = x.due
		x.timer.Reset(rest)
		return
	}
	delete(s.list, k)
	s.over(k)
}

func (s *deadlines) disarm(k timerKey) {
	x := s.list[k]
	switch {
	case x == nil:
	case k.kind.lazy():
		x.due = time.Time{}
	default:
		x.timer.Stop()
		delete(s.list, k)
	}
}

func (s *deadlines) armed(k timerKey) bool {
	x := s.list[k]
	return x != nil && !x.due.IsZero()
}

// stop stops all of them for good.
func (s *deadlines) stop() {
	for k, x := range s.list {
		x.timer.Stop()
		delete(s.list, k)
	}
}
