//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestKilledAtAnyMoment: whatever the shim is at when it is killed, a second
// later nothing is left of what it has started: no agent, no harness, and no
// tool, which the simulator starts in a session of its own.
func TestKilledAtAnyMoment(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 10
	} else if unhurried > 1 {
		runs = 25 // who is killed has no races any more; what outlives it is looked at
	}
	var (
		mu    sync.Mutex
		all   []time.Duration
		found = map[int]int{} // by how many processes ran
	)
	// More than there are processors: most of the time it waits for the moment.
	const atATime = 4
	next := make(chan int)
	var moments sync.WaitGroup
	for range atATime {
		moments.Go(func() {
			for i := range next {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					n, last := killedAfter(t, rand.N(600*time.Millisecond))
					mu.Lock()
					defer mu.Unlock()
					all, found[n] = append(all, last), found[n]+1
				})
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	moments.Wait()
	t.Logf("%d kills; processes at that moment: %v; gone after %v", len(all), found, quantiles(all))
	if !testing.Short() && found[0]+found[1]+found[2]+found[3] == len(all) {
		t.Error("no kill met an agent at its work")
	}
}

// killedAfter plays a client that keeps the shim busy, kills the shim, and tells
// how many processes ran, and how long the last one did.
func killedAfter(t *testing.T, d time.Duration) (n int, last time.Duration) {
	s := newStage(t)
	c := s.start(append([]string{s.shim, "--cancel-grace=50ms", "--"}, s.sim("1.1.1", "--cancel", "ignore")...))
	var killed time.Time
	kill := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(kill)
		n = len(s.alive())
		killed = time.Now()
		_ = c.cmd.Process.Kill()
	})
	keepBusy(c)
	<-kill
	last = s.endsWithin(time.Second, killed)
	c.wait()
	return n, last
}

// keepBusy opens two sessions, runs a tool in each, and cancels one of them, which
// has its process replaced. It ends with the shim.
func keepBusy(c *editor) {
	answer := func(id int) (line, bool) {
		i := c.await(0, "an answer", isAnswer(id))
		if i < 0 {
			return line{}, false
		}
		return c.line(i), true
	}
	if _, ok := answer(c.request("initialize", `{"protocolVersion":1}`)); !ok {
		return
	}
	var ids []string
	for range 2 {
		made, ok := answer(c.request("session/new", `{"cwd":"/","mcpServers":[]}`))
		if !ok {
			return
		}
		ids = append(ids, made.Get("result.sessionId").Str)
		c.request("session/prompt", prompting(ids[len(ids)-1], "command 60s"))
	}
	for range 20 {
		c.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, ids[0]))
		if _, ok := answer(c.request("session/prompt", prompting(ids[0], "stream 5 every 1ms"))); !ok {
			return
		}
		c.request("session/prompt", prompting(ids[0], "background 60s"))
	}
}

func prompting(session, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text)
}

// quantiles tells the spread of what was measured.
func quantiles(all []time.Duration) string {
	sorted := slices.Sorted(slices.Values(all))
	if len(sorted) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("p50 %v, p99 %v, max %v", round(at(sorted, 0.5)), round(at(sorted, 0.99)), round(at(sorted, 1)))
}
