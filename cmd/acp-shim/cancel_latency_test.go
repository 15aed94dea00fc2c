//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// latencyRuns is the variable that asks for another number of runs, and for the
// table on standard output.
const latencyRuns = "ACP_SHIM_LATENCY_RUNS"

// latency is a row of the table of latencies.
type latency struct {
	name, sim, shim string // flags
	agents          int    // connections that measure at a time, each on its own
	bound           time.Duration
	measure         func(m *latencyRun) time.Duration
	// own is what the agent alone takes, which is not the shim's; nil for none.
	own func(m *latencyRun) time.Duration
}

// startTakes is how long the simulated agent is silent after its start.
const startTakes = 400 * time.Millisecond

var latencies = []latency{
	{name: "honoured: cancel to answer", sim: "--cancel=honour", agents: 1, bound: 20 * time.Millisecond, measure: toAnswer(streams)},
	{name: "known to ignore, ends with its input", sim: "--cancel=ignore", agents: 2, bound: time.Second, measure: toAnswer(streams)},
	{name: "known to ignore, has to be killed", sim: "--cancel=ignore --eof=ignore", agents: 6, bound: time.Second, measure: toAnswer(streams)},
	{name: "to be found out, ends with its input", sim: "--cancel=ignore", agents: 4, bound: 2 * time.Second, measure: toAnswer("command 60s")},
	{name: "to be found out, has to be killed", sim: "--cancel=ignore --eof=ignore", agents: 6, bound: 2 * time.Second, measure: toAnswer("command 60s")},
	{name: "replaced: cancel to the next turn, less start and load", sim: "--cancel=ignore --start-delay=" + startTakes.String(),
		shim: "--cancel=emulate --standby=off", agents: 3, bound: 100 * time.Millisecond, measure: toNextTurn, own: startAndLoad},
	{name: "standby: cancel to the next turn, less load", sim: "--cancel=ignore --start-delay=" + startTakes.String(),
		shim: "--cancel=emulate", agents: 3, bound: 100 * time.Millisecond, measure: toNextTurn, own: loadAlone},
}

// latencyRun is one connection that a row is measured on.
type latencyRun struct {
	*editor
	stage   *stage
	row     latency
	session string
	standby bool
	cancels int
}

func TestCancelLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes its time")
	}
	if unhurried > 1 {
		t.Skip("how long it takes is no race")
	}
	runs := 8
	if n, err := strconv.Atoi(os.Getenv(latencyRuns)); err == nil && n > 0 {
		runs = n
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\truns\tp50\tp99\tmax\tbound")
	for _, row := range latencies {
		t.Run(strings.ReplaceAll(row.name, " ", "-"), func(t *testing.T) {
			c := newControl()
			all := row.all(t, runs)
			limit := unhurried * row.bound
			limit = max(slowly(limit), time.Duration(c.stretch()*float64(limit)))
			if len(all) != runs {
				t.Fatalf("%d of %d runs came to their end", len(all), runs)
			}
			p99 := at(all, 0.99)
			fmt.Fprintf(w, "%s\t%d\t%v\t%v\t%v\t%v\n", row.name, len(all), round(at(all, 0.5)), round(p99), round(at(all, 1)), row.bound)
			if p99 > limit {
				t.Errorf("the p99 of %d runs is %v, which is more than %v, for which %v is granted now: %v", len(all), p99, row.bound, limit, all)
			}
		})
	}
	w.Flush()
	t.Log("\n" + table.String())
	if os.Getenv(latencyRuns) != "" {
		fmt.Print(table.String())
	}
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// at is a quantile of sorted durations.
func at(all []time.Duration, q float64) time.Duration {
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

// all are the measurements of a row, sorted.
func (row latency) all(t *testing.T, runs int) []time.Duration {
	var (
		mu    sync.Mutex
		all   []time.Duration
		every sync.WaitGroup
		own   time.Duration
	)
	if row.own != nil {
		// The least that it takes: what a busy machine adds is not deducted.
		own = time.Hour
		s := newStage(t)
		for range 3 {
			own = min(own, row.own(&latencyRun{stage: s, row: row}))
		}
	}
	for i := range row.agents {
		n := (runs + i) / row.agents
		every.Go(func() {
			t.Run(fmt.Sprint("connection-", i), func(t *testing.T) {
				m := &latencyRun{stage: newStage(t), row: row}
				m.connect()
				for range n {
					d := row.measure(m) - own
					mu.Lock()
					all = append(all, d)
					mu.Unlock()
				}
			})
		})
	}
	every.Wait()
	slices.Sort(all)
	return all
}

func (m *latencyRun) sim() []string { return m.stage.sim("1.3.0", strings.Fields(m.row.sim)...) }

func (m *latencyRun) connect() {
	argv := append([]string{m.stage.shim}, strings.Fields(m.row.shim)...)
	m.standby = strings.HasPrefix(m.row.name, "standby")
	m.editor = m.stage.start(append(append(argv, "--"), m.sim()...))
	m.editor.call("initialize", `{"protocolVersion":1}`)
	m.session = m.editor.session()
	m.editor.turn(m.session, "before it")
	known := strings.HasPrefix(m.row.name, "known")
	for range 2 {
		if known || m.standby {
			m.row.measure(m) // that is how it becomes known, and how a standby comes to be
		}
	}
}

// cancelled sends a prompt and cancels it when its turn runs.
func (m *latencyRun) cancelled(text string) (prompt int, began time.Time) {
	id, from := m.prompt(m.session, text)
	m.must(from, "the turn", func(l line) bool { return isUpdate("agent_message_chunk")(l) || inProgress(l) })
	began = time.Now()
	m.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, m.session))
	return id, began
}

// toAnswer is the time from a cancel to the answer of its prompt.
func toAnswer(text string) func(m *latencyRun) time.Duration {
	return func(m *latencyRun) time.Duration {
		id, began := m.cancelled(text)
		r := m.answerTo(id)
		if r.Get("result.stopReason").Str != "cancelled" {
			m.t.Errorf("the prompt was answered %s", r.Raw)
		}
		if _, r := m.turn(m.session, "and on"); r.Get("result.stopReason").Str != "end_turn" {
			m.t.Errorf("the next prompt was answered %s", r.Raw)
		}
		return r.at.Sub(began)
	}
}

// toNextTurn is the time from a cancel to the first that the next turn says,
// whose prompt comes right behind.
func toNextTurn(m *latencyRun) time.Duration {
	_, began := m.cancelled(streams)
	id, _ := m.prompt(m.session, "Reply with exactly: NEXT.")
	at := m.must(m.begins(), "the next turn", func(l line) bool { return spoken([]line{l}) == "NEXT." })
	m.answerTo(id)
	m.cancels++
	if m.standby {
		m.awaitStandby()
	}
	return m.line(at).at.Sub(began)
}

// begins is where in what came the last cancelled turn begins.
func (m *latencyRun) begins() int {
	all := m.since(0, -1)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Get("result.stopReason").Exists() {
			return i + 1
		}
	}
	return 0
}

// awaitStandby waits until one process is there besides the first one and those
// that took the place of another.
func (m *latencyRun) awaitStandby() {
	m.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		m.mu.Lock()
		n, changed := strings.Count(string(m.stderr), "agy_acp_server 1.3.0, home"), m.changed
		m.mu.Unlock()
		if n >= m.cancels+2 {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			m.t.Fatalf("after %d cancels only %d processes were started", m.cancels, n)
		}
	}
}

// startAndLoad is what a bare agent takes from its start to the first that a turn
// of a loaded session says.
func startAndLoad(m *latencyRun) time.Duration { began, first := m.bare(); return first.Sub(began) }

// loadAlone is the same from the load on.
func loadAlone(m *latencyRun) time.Duration {
	began, first := m.bare()
	return first.Sub(began) - startTakes
}

func (m *latencyRun) bare() (began, first time.Time) {
	// Each of these waits for nothing but the agent.
	c := m.stage.start(m.stage.sim("1.3.0"))
	c.call("initialize", `{"protocolVersion":1}`)
	s := c.session()
	c.turn(s, "before it")
	c.closeInput()
	c.wait()
	began = time.Now()
	c = m.stage.start(m.sim())
	c.call("initialize", `{"protocolVersion":1}`)
	c.load(s)
	_, from := c.prompt(s, "Reply with exactly: NEXT.")
	return began, c.line(c.must(from, "the turn", isUpdate("agent_message_chunk"))).at
}
