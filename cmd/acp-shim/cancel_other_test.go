//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCancelLeavesOthersAlone has session B stream while A is cancelled, its
// process killed, and it restored, again and again: B's stream is whole, in
// order, once, and its gaps are those that it has without A.
func TestCancelLeavesOthersAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes its time")
	}
	const tries = 3 // the machine may do something else meanwhile
	for try := 1; ; try++ {
		alone, beside, cancels := besideCancels(t)
		a, b := at(alone, 0.99), at(beside, 0.99)
		t.Logf("gaps of B alone: p50 %v, p99 %v, max %v; beside %d cancels of A: p50 %v, p99 %v, max %v",
			round(at(alone, 0.5)), round(a), round(at(alone, 1)), cancels, round(at(beside, 0.5)), round(b), round(at(beside, 1)))
		if b-a <= unhurried*20*time.Millisecond {
			return
		}
		if try == tries {
			t.Fatalf("the p99 gap of B grows by %v while A is cancelled", b-a)
		}
	}
}

// besideCancels measures the gaps between B's deltas without and with cancels of
// A, sorted.
func besideCancels(t *testing.T) (alone, beside []time.Duration, cancels int) {
	t.Helper()
	const n, every = 800, 4 * time.Millisecond
	s := newStage(t)
	c := s.start(append([]string{s.shim, "--cancel-grace=50ms", "--"}, s.sim("1.3.0", "--cancel", "ignore")...))
	c.call("initialize", `{"protocolVersion":1}`)
	a, b := c.session(), c.session()
	c.turn(a, "before it")
	text := fmt.Sprintf("stream %d every %v", n, every)
	id, from := c.prompt(b, text)
	alone = gapsOf(c, b, id, from, n)
	id, from = c.prompt(b, text)
	c.must(from, "B's stream", isUpdate("agent_message_chunk"))
	done := isAnswer(id)
	for over := false; !over; cancels++ {
		at := c.count()
		// By turns what talks, and what has a command to be killed with it.
		victim, _ := c.prompt(a, []string{streams, "command 60s"}[cancels%2])
		c.must(at, "A's turn", func(l line) bool {
			return l.Get("params.sessionId").Str == a && (isUpdate("agent_message_chunk")(l) || inProgress(l))
		})
		c.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, a))
		if r := c.answerTo(victim); r.Get("result.stopReason").Str != "cancelled" {
			t.Fatalf("A's prompt was answered %s", r.Raw)
		}
		// A turn that was cancelled may count, but none that has ended is lost.
		turns := 0
		said, r := c.turn(a, "history")
		if _, err := fmt.Sscanf(said, "turns=%d", &turns); err != nil || turns < cancels+1 {
			t.Fatalf("A has lost its history after cancel %d: %q, %s", cancels+1, said, r.Raw)
		}
		over = slices.ContainsFunc(c.since(from, -1), done)
	}
	beside = gapsOf(c, b, id, from, n)
	return alone, beside, cancels
}

// gapsOf checks a stream of numbers and measures its gaps, sorted.
func gapsOf(c *editor, session string, id, from, n int) (gaps []time.Duration) {
	c.t.Helper()
	said, r := c.rest(session, id, from)
	var want strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&want, i)
	}
	if said+"\n" != want.String() || r.Get("result.stopReason").Str != "end_turn" {
		c.t.Fatalf("B said %q, then %s", said, r.Raw)
	}
	var last time.Time
	for _, l := range c.since(from, -1) {
		if l.Get("params.sessionId").Str != session || !isUpdate("agent_message_chunk")(l) {
			continue
		}
		if !last.IsZero() {
			gaps = append(gaps, l.at.Sub(last))
		}
		last = l.at
	}
	slices.Sort(gaps)
	return gaps
}
