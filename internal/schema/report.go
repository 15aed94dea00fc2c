package schema

import "slices"

// Report adds findings up, those that are alike as one.
type Report struct {
	Frames               int
	Violations, Warnings int
	list                 []*Finding
	known                map[Finding]*Finding
	// Left counts the findings of kinds that are too many to be kept.
	Left int
}

// maxKinds bounds how many kinds of findings are kept.
const maxKinds = 10_000

// Add takes the findings of one more frame.
func (p *Report) Add(list []Finding) {
	p.Frames++
	for _, f := range list {
		if f.Warning {
			p.Warnings++
		} else {
			p.Violations++
		}
		key := f.kindOf()
		if known := p.known[key]; known != nil {
			known.Count++
			continue
		}
		if len(p.list) >= maxKinds {
			p.Left++
			continue
		}
		if p.known == nil {
			p.known = map[Finding]*Finding{}
		}
		g := f
		p.known[key] = &g
		p.list = append(p.list, &g)
	}
}

// Findings are the kinds of findings, violations first, each in the order in which
// they came.
func (p *Report) Findings() []*Finding {
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b *Finding) int {
		switch {
		case a.Warning == b.Warning:
			return 0
		case b.Warning:
			return -1
		}
		return 1
	})
	return list
}
