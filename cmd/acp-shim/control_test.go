//go:build unix

package main

import (
	"os/exec"
	"sync"
	"time"
)

// control is another process that comes and goes, again and again, while something is
// measured: what the machine makes of it tells what a bound of time means then.
type control struct {
	stop chan struct{}
	took chan time.Duration // the mean
}

// least is the quickest that a control has been in this run.
var least struct {
	sync.Mutex
	time.Duration
}

func newControl() *control {
	c := &control{make(chan struct{}), make(chan time.Duration, 1)}
	go func() {
		var all, quickest time.Duration
		for n := time.Duration(1); ; n++ {
			began := time.Now()
			_ = exec.Command("true").Run() // how it ends is all the same
			d := time.Since(began)
			if all += d; n == 1 || d < quickest {
				quickest = d
			}
			select {
			case <-c.stop:
				least.Lock()
				if least.Duration == 0 || quickest < least.Duration {
					least.Duration = quickest
				}
				least.Unlock()
				c.took <- all / n
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return c
}

// stretch ends it, and tells how much slower than it could be everything was.
func (c *control) stretch() float64 {
	close(c.stop)
	mean := <-c.took
	least.Lock()
	defer least.Unlock()
	// A mean of twice the least is that of a machine with nothing else to do.
	return max(1, float64(mean)/float64(2*least.Duration))
}

// hangs is how long nothing takes that ends.
const hangs = 20 * time.Second

// endsWithin holds the end of all processes of this stage to a promise, which is
// stretched by what a control takes meanwhile, and not beyond what is no end. It tells
// how long after began the last one was gone.
func (s *stage) endsWithin(promise time.Duration, began time.Time) time.Duration {
	s.t.Helper()
	c := newControl()
	left := s.gone(hangs)
	took, stretch := time.Since(began), c.stretch()
	if limit := time.Duration(float64(promise) * stretch); len(left) > 0 || took > min(limit, hangs) {
		s.t.Errorf("the end took %v, and %v is the limit, %.1f times what it is on a quiet machine; there is still %v", took, limit, stretch, left)
	}
	return took
}
