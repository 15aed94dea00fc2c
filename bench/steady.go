package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// idle is what the shim does while nothing is said: nothing.
func (s setting) idle(seconds int) (table, error) {
	t := table{Title: fmt.Sprintf("idle for %d s, with a session open: context switches, memory, and how much of that is not shared with the program's file", seconds), Columns: []string{"switches", "memory", "of it its own"}}
	for _, c := range s.shims() {
		i, err := start(c, pipes)
		if err != nil {
			return t, err
		}
		time.Sleep(2 * time.Second) // what has to be written is, and the runtime has given back
		before := i.switches()
		time.Sleep(time.Duration(seconds) * time.Second)
		t.add(c.name, cell{Median: float64(i.switches() - before), Unit: "in all"}, cell{Median: float64(i.rss("VmRSS")) / 1024, Unit: "MiB"}, cell{Median: float64(i.rss("RssAnon")) / 1024, Unit: "MiB"})
		i.stop()
	}
	return t, nil
}

// switches counts the times that a thread of the contender has left a processor by
// itself.
func (i *instance) switches() (n int) {
	dir := fmt.Sprintf("/proc/%d/task", i.cmd.Process.Pid)
	tasks, _ := os.ReadDir(dir)
	for _, task := range tasks {
		b, _ := os.ReadFile(dir + "/" + task.Name() + "/status")
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				k, _ := strconv.Atoi(strings.TrimSpace(v))
				n += k
			}
		}
	}
	return n
}

// growth compares the cost of a frame at the beginning with that after many, and with
// one session against 64.
func (s setting) growth(total int) (table, error) {
	t := table{Title: "what a frame costs the shim, in time on a processor: the last as a ratio to the first; with 64 sessions and their processes as a ratio to one; memory for each of these, and for each of 2000 sessions of one process", Columns: []string{
		fmt.Sprintf("after %.0e frames", float64(total)), "64 sessions", "with its process", "a session"}}
	const part = 50_000
	c := s.shims()[0]
	c.argv = append([]string{c.argv[0], "--max-agents=100"}, c.argv[1:]...)
	i, err := start(c, pipes)
	if err != nil {
		return t, err
	}
	defer i.stop()
	each := func(sessions []string) ([]float64, error) {
		var list []float64
		for range 9 {
			before := i.cpu()
			for _, id := range sessions {
				if err := i.promptIn(id, fmt.Sprintf("stream %d", part/len(sessions))); err != nil {
					return nil, err
				}
			}
			list = append(list, float64(i.cpu()-before))
		}
		return list, nil
	}
	if _, err := each([]string{session}); err != nil { // warms up
		return t, err
	}
	first, err := each([]string{session})
	if err != nil {
		return t, err
	}
	for sent := 0; sent < total; sent += 10 * part {
		if err := i.promptIn(session, fmt.Sprintf("stream %d", 10*part)); err != nil {
			return t, err
		}
	}
	last, err := each([]string{session})
	if err != nil {
		return t, err
	}
	// As many prompts as there will be sessions, in one.
	alone := make([]string, 64)
	for n := range alone {
		alone[n] = session
	}
	one, err := each(alone)
	if err != nil {
		return t, err
	}
	before := i.rss("VmRSS")
	sessions := []string{session}
	for n := 1; n < 64; n++ {
		if err := i.call("session/new", fmt.Sprintf(`{"cwd":"/%04d","mcpServers":[]}`, n)); err != nil {
			return t, err
		}
		sessions = append(sessions, sessionOf(fmt.Sprintf("%04d", n)))
	}
	after := i.rss("VmRSS")
	if _, err := each(sessions); err != nil {
		return t, err
	}
	many, err := each(sessions)
	if err != nil {
		return t, err
	}
	ratio := func(a, b []float64) cell { return cell{Median: of(a, "").Median / of(b, "").Median} }
	state, err := s.ofSession()
	t.add(c.name, ratio(last, first), ratio(many, one), cell{Median: float64(max(after-before, 0)) / 63, Unit: "KiB"}, cell{Median: state, Unit: "KiB"})
	return t, err
}

// ofSession is the memory of a session that has no process of its own, in KiB: an
// agent that is not Antigravity's holds all of them.
func (s setting) ofSession() (float64, error) {
	const sessions = 2000
	c := s.shims()[3]
	i, err := start(c, pipes)
	if err != nil {
		return 0, err
	}
	defer i.stop()
	open := func(from, to int) error {
		for n := from; n < to; n++ {
			if err := i.call("session/new", fmt.Sprintf(`{"cwd":"/%04d","mcpServers":[]}`, n)); err != nil {
				return err
			}
		}
		time.Sleep(time.Second) // what is to be written is
		return nil
	}
	if err := open(1, 500); err != nil { // warms up
		return 0, err
	}
	before := i.rss("VmRSS")
	err = open(500, 500+sessions)
	return float64(max(i.rss("VmRSS")-before, 0)) / sessions, err
}
