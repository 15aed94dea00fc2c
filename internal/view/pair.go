package view

import (
	"sort"

	"acp-shim/internal/trace"
)

// pairs leads from requests to their rows, for what was held and went on later.
type pairs struct{ onWay map[int]int } // the row where it was held to that where it went on

func (p *pairs) reset() { p.onWay = map[int]int{} }

// row finds the row of a line of this run.
func (p *Page) row(seq uint64) int {
	first := p.runs[len(p.runs)-1].firstRow
	rows := p.cols.rows[first:]
	i := sort.Search(len(rows), func(i int) bool { return uint64(rows[i].seq) >= seq })
	if i < len(rows) && uint64(rows[i].seq) == seq {
		return first + i
	}
	return none
}

// heldLimit is how far back a line is looked for that was held, in rows. Only a
// prompt waits long, and then its session says nothing.
const heldLimit = 20000

// pair links a row to the one that it belongs to: an answer to its request, and a
// line that was held to the one where it went on.
func (p *Page) pair(r *trace.Record, row int) {
	rows := p.cols.rows
	x := &rows[row]
	if r.Again {
		for i := row - 1; i >= max(p.runs[len(p.runs)-1].firstRow, row-heldLimit); i-- {
			y := &rows[i]
			if y.flags&held != 0 && y.held == none && y.from == x.from && y.method == x.method && y.session == x.session {
				x.held, y.held = int32(i), int32(row)
				p.pairs.onWay[i] = row
				break
			}
		}
	}
	if r.Request == nil {
		return
	}
	x.took = float64(r.Took)
	asked := p.row(r.Request.Seq)
	if asked == none {
		return
	}
	x.partner = int32(asked)
	link := func(i int) {
		// What nobody received is an answer only while there is no other.
		if y := &rows[i]; y.partner == none || rows[y.partner].flags&lost != 0 {
			y.partner, y.took = int32(row), float64(r.Took)
		}
	}
	link(asked)
	if i, ok := p.pairs.onWay[asked]; ok {
		link(i)
		if x.flags&lost == 0 {
			delete(p.pairs.onWay, asked)
		}
	}
}
