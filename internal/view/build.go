package view

import (
	"errors"
	"time"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/proxy"
)

// Window says which lines of a capture a page shows.
type Window struct {
	// From and To are the first and the last seq, of each run; 0 is no bound.
	From, To uint64
	// Max is how many lines there are at most.
	Max int
}

// ErrFull is what Add returns when the window has all the lines that it may have:
// the rest of the capture need not be read.
var ErrFull = errors.New("the page has as many lines as it may have")

// Page collects the records of a capture for a page: Add them, then WriteTo, then
// Close.
//
// In the page are three kinds of data. "head" is JSON: names, agents, runs, spans,
// and a list of strings. "cols" are the columns of all lines, little-endian, one
// behind the other, as head tells; texts are there as numbers of strings. "b0",
// "b1" and so on are JSON lists of what only the detail of a line needs: the frame
// and what it was before the shim changed it.
type Page struct {
	// Title is what the page is called.
	Title string

	window Window
	spool  *spool
	titles show.Titles

	cols  columns
	text  texts
	block []detail
	size  int // of the texts in block

	runs   []run
	agents agents
	pairs  pairs
	turns  trace.Turns
	spans  []span
	open   map[string]int // a session's restore to its span
	usage  []sample

	now     float64 // the page's time of the last record
	more    bool    // there was more than the window could take
	outside int     // lines before and behind the window
	damaged int
	cut     int // frames of which only the beginning is there
}

// run is one run of the shim in the capture. The page's time goes on from run to
// run; Base is where a run's own begins.
type run struct {
	Base     float64 `json:"base"`
	Start    string  `json:"start"`
	Shim     string  `json:"shim"`
	Agent    string  `json:"agent"`
	Redacted bool    `json:"redacted"`
	firstRow int
}

// between is the page's time from one run's end to the next one's begin; the real
// one may be days.
const between = float64(time.Second)

// New begins a page.
func New(w Window) (*Page, error) {
	s, err := newSpool()
	if err != nil {
		return nil, err
	}
	return &Page{window: w, spool: s, open: map[string]int{}}, nil
}

// Close removes what was kept on disk.
func (p *Page) Close() error { return p.spool.close() }

// Rows is how many lines the page has.
func (p *Page) Rows() int { return p.cols.n() }

// Damaged tells how many lines of the capture could not be read.
func (p *Page) Damaged(n int) { p.damaged = n }

// Full reports whether lines were left out because the window had no room.
func (p *Page) Full() bool { return p.more }

// Add takes the next record.
func (p *Page) Add(r *trace.Record) error {
	if r.Kind == trace.Header {
		p.header(r)
		p.turns.Add(r)
		return nil
	}
	if len(p.runs) == 0 {
		p.begin(run{})
	}
	inside := p.window.From <= r.Seq && (p.window.To == 0 || r.Seq <= p.window.To)
	if inside && p.window.Max > 0 && p.Rows() >= p.window.Max {
		p.more = true
		return ErrFull
	}
	p.titles.See(r)
	t := p.runs[len(p.runs)-1].Base + float64(r.T)
	row := -1
	if inside {
		row = p.Rows()
		p.now = max(p.now, t)
		if err := p.line(r, row, t); err != nil {
			return err
		}
	} else {
		p.outside++
	}
	p.follow(r, row, t)
	return nil
}

func (p *Page) header(r *trace.Record) {
	if r.Continued && len(p.runs) > 0 {
		return
	}
	h := r.Header
	p.begin(run{Start: h.Start.UTC().Format(time.RFC3339Nano), Shim: h.Shim, Agent: h.Agent.Name, Redacted: h.Redacted})
}

func (p *Page) begin(r run) {
	p.cutOff()
	if len(p.runs) > 0 {
		r.Base = p.now + between
	}
	r.firstRow = p.Rows()
	p.runs = append(p.runs, r)
	p.pairs.reset()
	p.agents.run()
}

// line makes a row of a record.
func (p *Page) line(r *trace.Record, row int, t float64) error {
	to := show.Receiver(r)
	l := line{
		t: t, seq: uint32(min(r.Seq, 1<<32-1)), run: uint16(min(len(p.runs)-1, 1<<16-1)), kind: uint8(r.Kind),
		session: p.text.id(r.Session), why: p.text.id(show.Clean(show.Begin(r.Why, 200))), partner: none, held: none,
		bytes: uint32(min(len(r.Pre)+len(r.Body)+len(r.Post), 1<<32-1)),
		gist:  p.text.id(show.Clean(show.Begin(p.titles.Gist(&show.Row{Record: r, Count: 1, Last: r.T}), gistLimit))),
	}
	if r.Kind == trace.Event {
		l.method = p.text.id(show.Clean(show.Begin(r.Event, 100)))
		l.from = p.agents.peer(proxy.AgentPeer(r.Process()), row)
		p.agents.event(r, row)
	} else {
		l.method, l.update = p.text.id(show.Clean(show.Begin(r.Method, 200))), p.text.id(show.Clean(show.Begin(r.Update, 100)))
		l.from, l.to = p.agents.peer(r.From, row), p.agents.peer(to, row)
	}
	l.flags = flags(r, to)
	p.cols.add(l)
	p.pair(r, row)
	return p.keep(r)
}

// The flags of a row; names.js has them, too.
const (
	failed   = 1 << iota // something went wrong
	changed              // the shim changed it
	again                // it had been held, and is on its way now
	replayed             // it is history
	lost                 // nobody received it
	made                 // the shim made it
	chunk                // it is a chunk of a stream
	held                 // it waits in the shim
)

func flags(r *trace.Record, to proxy.Peer) (f uint16) {
	set := func(bit uint16, on bool) {
		if on {
			f |= bit
		}
	}
	set(failed, show.Wrong(r))
	set(chunk, r.Update == "agent_message_chunk" || r.Update == "agent_thought_chunk" || r.Update == "user_message_chunk")
	if r.Kind == trace.Event {
		return f
	}
	set(changed, len(r.Edits) > 0)
	set(again, r.Again)
	set(replayed, r.Replayed)
	set(lost, to == proxy.Nobody)
	set(made, r.From == proxy.Shim)
	set(held, to == proxy.Nobody && r.Why == "held")
	return f
}

// gistLimit is how many bytes of a gist the page has; the frame itself is there,
// too.
const gistLimit = 180
