package main

import (
	"bufio"

	"acp-shim/internal/stats"
	"acp-shim/internal/trace"
)

// statsCmd prints the figures of captures.
type statsCmd struct {
	File []string `arg:"" help:"Captures; the files of one run in their order. - is standard input."`
	JSON bool     `name:"json" help:"Print a JSON object for each turn, then one for each method, then the totals. Times are in nanoseconds."`
}

func (c statsCmd) Run() error {
	out := bufio.NewWriterSize(stdout, 64<<10)
	defer out.Flush()
	t := newTables(out)
	s := &stats.Collector{Turn: t.turn}
	if c.JSON {
		s.Turn = func(turn stats.Turn) {
			if t.err == nil {
				t.err = printJSON(out, turnJSON{"turn", turn})
			}
		}
	}
	d := &damage{}
	err := records(captures(c.File, false), d, func(r *trace.Record) error {
		s.Add(r)
		return t.err
	})
	if err != nil {
		out.Flush()
		return failed(err)
	}
	all, totals := s.End()
	totals.Damaged = int64(d.lines)
	if c.JSON {
		for _, m := range s.Methods() {
			if err := printJSON(out, newMethodJSON(m)); err != nil {
				return err
			}
		}
		if err := printJSON(out, totalsJSON{"totals", totals}); err != nil {
			return err
		}
		return out.Flush()
	}
	t.turnsEnd(all)
	t.methods(s.Methods())
	t.totals(totals)
	if t.err != nil {
		return t.err
	}
	return out.Flush()
}

// turnJSON, methodJSON and totalsJSON are what programs get, one a line.
type turnJSON struct {
	Kind string `json:"kind"`
	stats.Turn
}

type methodJSON struct {
	Kind    string `json:"kind"`
	Method  string `json:"method"`
	Update  string `json:"update,omitempty"`
	From    string `json:"from"`
	Request bool   `json:"request"`
	Count   int64  `json:"count"`
	Errors  int64  `json:"errors"`
	Open    int64  `json:"open"`
	P50     int64  `json:"p50,omitempty"`
	P99     int64  `json:"p99,omitempty"`
	Max     int64  `json:"max,omitempty"`
}

func newMethodJSON(m *stats.Method) methodJSON {
	return methodJSON{Kind: "method", Method: m.Method, Update: m.Update, From: m.From, Request: m.Request, Count: m.Count,
		Errors: m.Errors, Open: m.Open(), P50: int64(m.Took.At(0.5)), P99: int64(m.Took.At(0.99)), Max: int64(m.Took.Max())}
}

type totalsJSON struct {
	Kind string `json:"kind"`
	*stats.Totals
}
