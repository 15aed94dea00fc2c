package stats

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Edge is the traffic from one side to another.
type Edge struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Frames int64  `json:"frames"`
	Bytes  int64  `json:"bytes"`
}

// Totals are the figures of all traffic. Maps from words count how often each
// was said.
type Totals struct {
	// Runs are the runs, Ended those that ended in order, Parts the files that
	// continue one.
	Runs  int `json:"runs"`
	Parts int `json:"parts,omitempty"`
	Ended int `json:"ended"`
	// Time is that of all runs together.
	Time   time.Duration `json:"time"`
	Frames int64         `json:"frames"`
	Events int64         `json:"events"`
	Edges  []Edge        `json:"edges"`
	// Changed counts the frames that the shim changed on their way, Made those
	// that it made, by why, Dropped those that nobody received, by why, and Held
	// those that were sent later.
	Changed int64            `json:"changed"`
	Made    map[string]int64 `json:"made"`
	Dropped map[string]int64 `json:"dropped"`
	Held    int64            `json:"held"`
	// Replayed counts the updates that repeat history.
	Replayed int64 `json:"replayed"`

	Processes int64            `json:"processes"`
	Exits     map[string]int64 `json:"exits"`
	Condemned int64            `json:"condemned"`
	Cancels   map[string]int64 `json:"cancels"`
	Restores  map[string]int64 `json:"restores"`
	Stalls    int64            `json:"stalls"`
	// Gaps are what the captures do not have.
	Gaps        int64 `json:"gaps"`
	LostFrames  int64 `json:"lostFrames"`
	LostEvents  int64 `json:"lostEvents"`
	LostBytes   int64 `json:"lostBytes"`
	Damaged     int64 `json:"damagedLines"`
	NoAnswer    int64 `json:"answersToNothing"`
	NotMessages int64 `json:"notMessages"`
}

// Lost is how much was dropped, whatever the reason.
func (t *Totals) Lost() (n int64) {
	for _, c := range t.Dropped {
		n += c
	}
	return n
}

type sender struct {
	peer proxy.Peer
	id   string
}

type totals struct {
	Totals
	edges map[[2]string]*Edge
	// parked are requests that nobody has received yet, and why: what is sent
	// later was held, not dropped.
	parked map[sender]string
	last   time.Duration
}

const (
	maxParked = 1 << 16
	maxWords  = 50
)

// say counts a word of a map that does not grow without end.
func say(m *map[string]int64, word string) {
	if *m == nil {
		*m = map[string]int64{}
	}
	if _, ok := (*m)[word]; !ok && len(*m) >= maxWords {
		word = "other"
	}
	(*m)[word]++
}

func (t *totals) add(r *trace.Record) {
	switch {
	case r.Kind == trace.Header:
		if r.Continued {
			t.Parts++
			return
		}
		t.Runs++
		t.Time += t.last
		t.last, t.parked = 0, nil
		return
	case r.Kind == trace.Event:
		t.last = max(t.last, r.T)
		t.event(r)
		return
	}
	t.last = max(t.last, r.T)
	t.Frames++
	t.frame(r)
}

func (t *totals) frame(r *trace.Record) {
	to := r.To
	if r.Kind == trace.Response && to == proxy.Nobody && r.Request != nil && r.Request.From == proxy.Shim {
		to = proxy.Shim
	}
	key := sender{r.From, r.ID}
	if r.Again {
		if why, ok := t.parked[key]; ok && r.Kind == trace.Request {
			delete(t.parked, key)
			if t.Dropped[why]--; t.Dropped[why] <= 0 {
				delete(t.Dropped, why)
			}
			t.Held++
		}
	}
	if to == proxy.Nobody {
		why := cmp.Or(r.Why, "no reason given")
		say(&t.Dropped, why)
		if r.Kind == trace.Request && t.Dropped[why] > 0 && len(t.parked) < maxParked {
			if t.parked == nil {
				t.parked = map[sender]string{}
			}
			t.parked[key] = why
		}
	}
	if to != proxy.Nobody || !r.Again {
		if t.edges == nil {
			t.edges = map[[2]string]*Edge{}
		}
		name := [2]string{side(r.From), side(to)}
		if t.edges[name] == nil {
			t.edges[name] = &Edge{From: name[0], To: name[1]}
		}
		t.edges[name].Frames++
		t.edges[name].Bytes += int64(len(r.Pre) + len(r.Body) + len(r.Post))
	}
	if len(r.Edits) > 0 && to != proxy.Nobody {
		t.Changed++
	}
	if r.From == proxy.Shim {
		say(&t.Made, cmp.Or(r.Why, r.Method, "no reason given"))
	}
	if r.Replayed {
		t.Replayed++
	}
	switch {
	case r.Kind == trace.Other:
		t.NotMessages++
	case r.Kind == trace.Response && r.Request == nil && !r.Again:
		t.NoAnswer++
	}
}

func (t *totals) event(r *trace.Record) {
	if r.Event != "gap" && r.Event != "end" {
		t.Events++
	}
	text := string(r.Text)
	switch r.Event {
	case "spawn":
		t.Processes++
	case "exit":
		say(&t.Exits, cmp.Or(text, "unknown"))
	case "condemn":
		t.Condemned++
	case "cancel":
		say(&t.Cancels, cmp.Or(text, "unknown"))
	case "restore":
		// How a session was opened is a detail, that it was is the outcome.
		if strings.HasPrefix(text, "opened") {
			text = "opened"
		}
		say(&t.Restores, cmp.Or(text, "unknown"))
	case "stall":
		t.Stalls++
	case "end":
		t.Ended++
	case "gap":
		t.gap(r.Gap())
	}
}

func (t *totals) gap(g record.Gap, ok bool) {
	t.Gaps++
	if ok {
		t.LostFrames += int64(g.Frames)
		t.LostEvents += int64(g.Events)
		t.LostBytes += int64(g.Bytes)
	}
}

func (t *totals) end() *Totals {
	t.Time += t.last
	t.last = 0
	t.Edges = nil
	for _, e := range slices.SortedFunc(maps.Values(t.edges), func(a, b *Edge) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	}) {
		t.Edges = append(t.Edges, *e)
	}
	return &t.Totals
}
