package stats

import (
	"cmp"

	"acp-shim/internal/trace"
	"acp-shim/usage"
)

// A Collector takes the records of captures, one after the other.
type Collector struct {
	// Turn takes each turn when it is over, or cut off.
	Turn func(Turn)

	methods methods
	turns   trace.Turns
	tokens  map[*trace.Origin]*usage.Totals
	used    map[string]*usage.Session
	ran     map[*trace.Origin]string // models that turns ran on, where the agent says so
	about   about
	all     Summary
	totals  totals
}

// Add takes the next record.
func (c *Collector) Add(r *trace.Record) {
	if r.Kind == trace.Header && !r.Continued {
		c.cutOff()
	}
	c.totals.add(r)
	c.about.add(r)
	if r.IsFrame() {
		c.methods.add(r)
	}
	if r.Prompt != nil && r.From.Gen() > 0 {
		c.report(r)
	}
	if t, over := c.turns.Add(r); over {
		c.over(t, false)
	}
}

// Damaged counts a line that could not be read.
func (c *Collector) Damaged() { c.totals.Damaged++ }

// Methods are the methods that were used, those of requests first, the most used
// first.
func (c *Collector) Methods() []*Method { return c.methods.list() }

// End hands out the turns that the end of the captures has cut off, and gives the
// figures of all turns and of all traffic.
func (c *Collector) End() (*Summary, *Totals) {
	c.cutOff()
	return &c.all, c.totals.end()
}

func (c *Collector) cutOff() {
	for _, t := range c.turns.Open() {
		c.over(t, true)
	}
	c.turns = trace.Turns{}
	c.tokens, c.used, c.ran = nil, nil, nil
}

// report takes what a frame says of its turn's tokens. Whether it speaks of the turn
// or of all so far shows in what the session has reported before.
func (c *Collector) report(r *trace.Record) {
	if !reports(r) {
		return
	}
	said, ok := usage.Read(r.Body)
	if !ok {
		return
	}
	if c.tokens == nil {
		c.tokens, c.used, c.ran = map[*trace.Origin]*usage.Totals{}, map[string]*usage.Session{}, map[*trace.Origin]string{}
	}
	s, t := c.used[r.Session], c.tokens[r.Prompt]
	if s == nil {
		s = &usage.Session{}
		c.used[r.Session] = s
	}
	if t == nil {
		t = &usage.Totals{}
		c.tokens[r.Prompt] = t
	}
	turn := s.Add(said, r.Process())
	t.Add(said, turn)
	if model := said.Model(); model != "" {
		c.ran[r.Prompt] = model
	}
}

func (c *Collector) over(t *trace.Turn, cut bool) {
	turn := newTurn(t, cut, c.totals.last)
	turn.Usage = c.tokens[t.Prompt]
	turn.Model, turn.Build = cmp.Or(c.ran[t.Prompt], c.about.models[t.Session]), c.about.build
	if at := c.about.began; !at.IsZero() {
		turn.At = at.Add(turn.Start + turn.Took)
	}
	delete(c.tokens, t.Prompt)
	delete(c.ran, t.Prompt)
	c.all.add(&turn, t.Gaps)
	if c.Turn != nil {
		c.Turn(turn)
	}
}
