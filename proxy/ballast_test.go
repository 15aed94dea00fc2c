package proxy

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestBallast has memory given back once after what was much, when that is over, and
// never for what is little.
func TestBallast(t *testing.T) {
	for name, c := range map[string]struct {
		size, times int
		every       time.Duration
		given       int
	}{
		"a large frame":           {20 << 20, 1, 0, 1},
		"several in a row":        {20 << 20, 8, 300 * time.Millisecond, 1},
		"two with a pause":        {20 << 20, 2, 5 * time.Second, 2},
		"a busy time":             {64 << 10, 5000, time.Millisecond, 1},
		"a session of a day":      {4 << 10, 1000, time.Minute, 0},
		"a session of weeks":      {4 << 10, 4000, time.Minute, 3},
		"less than a large frame": {heavy - 1, 1, 0, 0},
		"and another one":         {heavy - 1, 2, time.Hour, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var given atomic.Int32
			b := &ballast{give: func() { given.Add(1) }}
			b.step = func(f func()) {
				mu.Lock()
				defer mu.Unlock()
				f()
			}
			for n := range c.times {
				b.step(func() { b.weigh(c.size) })
				if n < c.times-1 {
					time.Sleep(c.every)
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := int(given.Load()); n != c.given {
				t.Errorf("%s: given back %d times, and not %d", name, n, c.given)
			}
			b.step(b.stop)
		})
	}
}

// TestATrickleAfterAFlood does not keep the flood's memory.
func TestATrickleAfterAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		given := 0
		b := &ballast{give: func() { given++ }}
		b.step = func(f func()) {
			mu.Lock()
			defer mu.Unlock()
			f()
		}
		b.step(func() { b.weigh(100 << 20) })
		for range 10 {
			time.Sleep(400 * time.Millisecond)
			b.step(func() { b.weigh(300 << 10) })
		}
		synctest.Wait()
		if given != 1 {
			t.Errorf("given back %d times while it trickles", given)
		}
		b.step(b.stop)
	})
}

// TestASlowClientsFrameIsGivenBack when the client has taken it at last, too: when it
// was read, it had to be kept.
func TestASlowClientsFrameIsGivenBack(t *testing.T) {
	r := newRig(t, Options{})
	given := make(chan bool, 10)
	r.loop.step(func() { r.loop.ballast.give = func() { given <- true } })
	a := r.agent()
	line := append(bytes.Repeat([]byte("x"), 2*heavy), '\n')
	go a.say.Write(line)
	for _, when := range []string{"it was read", "it was taken"} {
		select {
		case <-given:
		case <-time.After(patience):
			t.Fatalf("nothing was given back after %s", when)
		}
		if when == "it was read" {
			r.read(len(line))
		}
	}
}
