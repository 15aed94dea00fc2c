package view

import (
	"fmt"
	"sort"
)

// head is what the page knows beside the columns.
type head struct {
	Rows    int      `json:"rows"`
	Columns []column `json:"columns"`
	Strings []string `json:"strings"`
	Runs    []run    `json:"runs"`
	Agents  []agent  `json:"agents"`
	Lanes   int      `json:"lanes"`
	Spans   []span   `json:"spans"`
	// Usage are rows, and what they say is used of what size.
	Usage [3][]float64 `json:"usage"`
	// Blocks are the first rows of the blocks.
	Blocks []int  `json:"blocks"`
	Title  string `json:"title"`
	// Full tells that the window had no room for more.
	Full    bool `json:"full"`
	Max     int  `json:"max"`
	Outside int  `json:"outside"`
	Damaged int  `json:"damaged"`
	Cut     int  `json:"cut"`
}

// index is the head and the columns, packed.
func (p *Page) index() (list [2][]byte, err error) {
	p.cutOff()
	h := head{Rows: p.Rows(), Runs: p.runs, Agents: p.agents.list, Lanes: p.agents.lanes(), Spans: p.inWindow(), Strings: p.text.all(),
		Title: p.Title, Full: p.more, Max: p.window.Max, Outside: p.outside, Damaged: p.damaged, Cut: p.cut}
	for _, u := range p.usage {
		for i, v := range []float64{float64(u.row), u.used, u.size} {
			h.Usage[i] = append(h.Usage[i], v)
		}
	}
	for i, l := range p.cols.rows {
		if int(l.block) == len(h.Blocks) {
			h.Blocks = append(h.Blocks, i)
		}
	}
	var cols []byte
	h.Columns, cols = p.cols.pack()
	if list[0], err = packed(h); err == nil {
		list[1], err = deflated(cols)
	}
	if err != nil {
		return list, fmt.Errorf("packing the index of the page: %w", err)
	}
	return list, nil
}

// inWindow are the spans of which something is in the window, each turn followed
// by what is in it.
func (p *Page) inWindow() []span {
	list := []span{}
	if p.Rows() == 0 {
		return list
	}
	first := p.cols.rows[0].t
	turns := map[int]float64{}
	for i, s := range p.spans {
		if s.turn == i {
			turns[i] = s.From
		}
	}
	for _, s := range p.spans {
		if s.To >= first && s.From <= p.now {
			list = append(list, s)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		if a.turn != b.turn {
			if x, y := turns[a.turn], turns[b.turn]; x != y {
				return x < y
			}
			return a.turn < b.turn
		}
		if (a.Kind == "turn") != (b.Kind == "turn") {
			return a.Kind == "turn"
		}
		return a.From < b.From
	})
	return list
}
