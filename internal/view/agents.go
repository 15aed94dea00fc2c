package view

import (
	"slices"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/proxy"
)

// The numbers of the peers in columns; agents come behind them.
const (
	nobody int32 = iota
	client
	shim
	firstAgent
)

// agent is one process. It has a lane in the page for the rows First to Last.
type agent struct {
	Name  string `json:"name"`
	First int    `json:"first"`
	Last  int    `json:"last"` // none while it lives
	Lane  int    `json:"lane"`
	run   int
}

type agents struct {
	list  []agent
	known map[proxy.Peer]int // of this run
	runs  int
	rows  int
}

// run forgets the processes of the run before: its numbers begin anew.
func (a *agents) run() {
	for _, i := range a.known {
		if a.list[i].Last == none {
			a.list[i].Last = a.rows - 1
		}
	}
	a.known = map[proxy.Peer]int{}
	a.runs++
}

// peer is the number of a peer that a row is about.
func (a *agents) peer(p proxy.Peer, row int) int32 {
	a.rows = row + 1
	switch p {
	case proxy.Nobody:
		return nobody
	case proxy.Client:
		return client
	case proxy.Shim:
		return shim
	}
	i, ok := a.known[p]
	if !ok {
		i = len(a.list)
		a.known[p] = i
		a.list = append(a.list, agent{Name: show.Agent(p.Gen()), First: row, Last: none, run: a.runs})
	}
	if x := &a.list[i]; x.Last != none {
		x.Last = row // lines of it come behind its exit
	}
	return firstAgent + int32(i)
}

// event notes where a process has ended.
func (a *agents) event(r *trace.Record, row int) {
	if i, ok := a.known[proxy.AgentPeer(r.Process())]; ok && r.Event == "exit" {
		a.list[i].Last = row
	}
}

// ownLanes is how many processes have a lane each; where there are more, one takes
// the lane of another that is gone.
const ownLanes = 5

// lanes gives each process its lane, and tells how many there are.
func (a *agents) lanes() int {
	if len(a.list) <= ownLanes {
		for i := range a.list {
			a.list[i].Lane = i
		}
		return len(a.list)
	}
	var busy []int // the last row of each lane
	for i := range a.list {
		x := &a.list[i]
		last := x.Last
		if last == none {
			last = a.rows
		}
		lane := slices.IndexFunc(busy, func(until int) bool { return until < x.First })
		if lane < 0 {
			lane = len(busy)
			busy = append(busy, 0)
		}
		busy[lane], x.Lane = last, lane
	}
	return len(busy)
}
