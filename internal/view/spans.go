package view

import (
	"bytes"
	"sort"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
)

// span is something that lasted: a turn, a tool, a wait for a permission, the
// restore of a session.
type span struct {
	Kind    string `json:"kind"`
	Label   string `json:"label"`
	Status  string `json:"status,omitempty"`
	Session string `json:"session"`
	Row     int    `json:"row"` // where it begins, none for a row that is not here
	// From and To are in the page's time; Open tells that the end is not known.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Open bool    `json:"open,omitempty"`
	// Sent and First are, of a turn, when the agent had the prompt and when its
	// first chunk of message came, 0 for not.
	Sent  float64 `json:"sent,omitempty"`
	First float64 `json:"first,omitempty"`
	turn  int
}

// sample is what a frame says of the tokens that are used.
type sample struct {
	row        int
	used, size float64
}

// follow keeps what lasts longer than a row.
func (p *Page) follow(r *trace.Record, row int, t float64) {
	if r.Kind == trace.Event {
		p.restore(r, row, t)
		return
	}
	if row >= 0 {
		p.used(r, row)
	}
	if turn, over := p.turns.Add(r); over {
		p.turn(turn)
	}
}

// turn makes spans of a turn that is over.
func (p *Page) turn(t *trace.Turn) {
	base := p.runs[len(p.runs)-1].Base
	at := func(d time.Duration) float64 {
		if d == 0 {
			return 0
		}
		return base + float64(d)
	}
	row := p.row(t.Prompt.Seq)
	s := span{Kind: "turn", Session: t.Session, Row: row, From: base + float64(t.Prompt.T), To: at(t.End), Open: t.End == 0,
		Sent: at(t.Sent), First: at(t.First), Status: t.Stop, Label: "prompt"}
	if t.Failure != "" {
		s.Status = "error: " + show.Clean(show.Begin(t.Failure, 200))
	}
	if row >= 0 {
		s.Label = p.text.list[p.cols.rows[row].gist]
	}
	first := len(p.spans)
	p.span(s)
	for _, x := range t.Tools {
		title := x.Title
		if title == "" {
			title = x.ID
		}
		label := strings.TrimSpace(show.Begin(title, 200))
		p.span(span{Kind: "tool", Session: t.Session, Row: p.rowAt(x.Start), From: at(x.Start), To: at(x.End), Open: x.End == 0,
			Label: show.Clean(label), Status: show.Clean(show.Begin(x.Status, 40))})
	}
	for _, x := range t.Waits {
		p.span(span{Kind: "wait", Session: t.Session, Row: p.rowAt(x.Start), From: at(x.Start), To: at(x.End), Label: show.Clean(show.Begin(x.Method, 100))})
	}
	for i := first; i < len(p.spans); i++ {
		p.spans[i].turn = first
		if e := &p.spans[i]; e.Open {
			e.To = s.To
		}
	}
}

// rowAt is the row of a time of this run.
func (p *Page) rowAt(d time.Duration) int {
	r := p.runs[len(p.runs)-1]
	t := r.Base + float64(d)
	rows := p.cols.rows[r.firstRow:]
	i := sort.Search(len(rows), func(i int) bool { return rows[i].t >= t })
	if i < len(rows) && rows[i].t == t {
		return r.firstRow + i
	}
	return none
}

func (p *Page) span(s span) {
	s.turn = len(p.spans)
	p.spans = append(p.spans, s)
}

// restore follows a session's restores, as the shim tells them: "begins", and
// another text at the end.
func (p *Page) restore(r *trace.Record, row int, t float64) {
	if r.Event != "restore" {
		return
	}
	if i, ok := p.open[r.Session]; ok {
		p.spans[i].To, p.spans[i].Open, p.spans[i].Status = t, false, show.Clean(show.Begin(string(r.Text), 200))
		delete(p.open, r.Session)
		return
	}
	if string(r.Text) == "begins" {
		p.open[r.Session] = len(p.spans)
		p.span(span{Kind: "restore", Label: "restore on " + show.Agent(r.Process()), Session: r.Session, Row: row, From: t, Open: true})
	}
}

// cutOff ends what the end of a run has cut off.
func (p *Page) cutOff() {
	if len(p.runs) == 0 {
		return
	}
	list := p.turns.Open()
	sort.Slice(list, func(i, j int) bool { return list[i].Prompt.Seq < list[j].Prompt.Seq })
	for _, t := range list {
		p.turn(t)
	}
	for i := range p.spans {
		if s := &p.spans[i]; s.Open && s.To == 0 {
			s.To = p.now
		}
	}
	p.open = map[string]int{}
}

// used notes what a frame says of the context window that is used.
func (p *Page) used(r *trace.Record, row int) {
	if r.Update != "usage_update" || r.Replayed || !bytes.Contains(r.Body, []byte(`"used"`)) {
		return
	}
	u := gjson.GetBytes(r.Body, "params.update")
	if used := u.Get("used"); used.Type == gjson.Number && used.Num >= 0 {
		p.usage = append(p.usage, sample{row, used.Num, max(u.Get("size").Num, 0)})
	}
}
