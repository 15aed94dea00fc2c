package probe

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// The ways in which something has changed.
const (
	Better  = "better"
	Worse   = "worse"
	Changed = "changed"
)

// Change is one thing that two reports differ in.
type Change struct {
	Gate  string `json:"gate"`
	Title string `json:"title"`
	// Kind is verdict, figure or fact, and Name which of them.
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Old  string `json:"old"`
	New  string `json:"new"`
	Way  string `json:"way"`
}

// Comparison is what two reports differ in.
type Comparison struct {
	Format      string   `json:"format"`
	Version     int      `json:"version"`
	Old         Side     `json:"old"`
	New         Side     `json:"new"`
	Changes     []Change `json:"changes"`
	NotCompared []string `json:"notCompared,omitempty"`
}

// Side is one of the two reports.
type Side struct {
	Time  string `json:"time"`
	Agent Agent  `json:"agent"`
}

// ComparisonFormat is what a comparison says of itself.
const ComparisonFormat = "acp-shim-probe-comparison"

// Compare says what has changed from one report to another. What one of them has
// not tried, for want of quota or because it was not asked for, is not compared.
func Compare(old, now *Report) *Comparison {
	c := &Comparison{Format: ComparisonFormat, Version: Version, Old: old.side(), New: now.side(), Changes: []Change{}}
	for i := range now.Gates {
		b := &now.Gates[i]
		a := old.Gate(b.ID)
		if a == nil || a.untried() || b.untried() {
			c.NotCompared = append(c.NotCompared, b.ID)
			continue
		}
		c.gate(a, b, old.Live == now.Live)
	}
	for i := range old.Gates {
		if now.Gate(old.Gates[i].ID) == nil {
			c.NotCompared = append(c.NotCompared, old.Gates[i].ID)
		}
	}
	return c
}

func (r *Report) side() Side {
	return Side{r.Time.Format("2006-01-02 15:04:05 UTC"), r.Agent}
}

// untried tells a gate of which nothing is known because nobody asked.
func (r *Result) untried() bool {
	return r.Verdict == NotRun && (r.Why == WhyQuota || r.Why == WhyInterrupted)
}

// gate compares one. Where only one side could spend quota (alike is false), what
// only that side has was not to be found out by the other.
func (c *Comparison) gate(a, b *Result, alike bool) {
	add := func(kind, name, old, now, way string) {
		c.Changes = append(c.Changes, Change{b.ID, b.Title, kind, name, old, now, way})
	}
	if a.Verdict != b.Verdict {
		add("verdict", "", string(a.Verdict), string(b.Verdict), wayOf(a.Verdict, b.Verdict))
	}
	for _, n := range b.Figures {
		for _, o := range a.Figures {
			if o.Name == n.Name && o.Unit == n.Unit && beyondNoise(o, n) {
				way := Changed
				if n.Unit != "count" {
					way = map[bool]string{true: Worse, false: Better}[n.Value > o.Value]
				}
				add("figure", n.Name, o.String(), n.String(), way)
			}
		}
	}
	names := maps.Clone(a.Facts)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, b.Facts)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, inA := a.Facts[name]
		y, inB := b.Facts[name]
		if x == y && inA == inB || !alike && inA != inB {
			continue
		}
		if !inA {
			x = "not known"
		}
		if !inB {
			y = "not known"
		}
		add("fact", name, x, y, Changed)
	}
}

func wayOf(a, b Verdict) string {
	rank := map[Verdict]int{Fail: 1, Fallback: 2, Pass: 3}
	switch {
	case rank[a] == 0 || rank[b] == 0:
		return Changed
	case rank[b] > rank[a]:
		return Better
	}
	return Worse
}

// beyondNoise tells a figure that has moved more than it does from run to run on a
// machine that others use as well.
func beyondNoise(a, b Number) bool {
	d := math.Abs(b.Value - a.Value)
	part := d / max(math.Min(a.Value, b.Value), 1)
	switch a.Unit {
	case "ms":
		return d > 500 && part > 0.5
	case "bytes":
		return d > 32<<20 && part > 0.25
	}
	return d > 3 && part > 0.5
}

// String is a figure with its unit.
func (n Number) String() string {
	switch n.Unit {
	case "ms":
		if n.Value >= 1000 {
			return fmt.Sprintf("%.1f s", n.Value/1000)
		}
		return fmt.Sprintf("%.1f ms", n.Value)
	case "bytes":
		return fmt.Sprintf("%.0f MiB", n.Value/(1<<20))
	}
	return fmt.Sprintf("%.0f", n.Value)
}
