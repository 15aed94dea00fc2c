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

// arm sets a deadline, or sets it anew. A timer that rings before it is left to, and is
// set for the rest then: what the runtime has to do for a timer costs more than a frame,
// and there are deadlines that every turn puts off.
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
	case x.rings.After(due):
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

// rest takes a deadline back until it is armed again. Its timer runs on, for the same
// reason.
func (s *deadlines) rest(k timerKey) {
	if x := s.list[k]; x != nil {
		x.due = time.Time{}
	}
}

// disarm takes a deadline back, and all that there is of it.
func (s *deadlines) disarm(k timerKey) {
	if x := s.list[k]; x != nil {
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
