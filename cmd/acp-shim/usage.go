package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/state"
	"acp-shim/internal/stats"
	"acp-shim/internal/trace"
	"acp-shim/usage"
)

// usageCmd says what was used.
type usageCmd struct {
	Path     []string `arg:"" optional:"" help:"Captures, or directories with captures; - is standard input. Without any, the books that the shim keeps."`
	By       string   `default:"all" enum:"all,day,model,session" help:"Only one table: by ${enum}."`
	Since    string   `placeholder:"WHEN" help:"Only turns since a day (2026-11-30), or of that long (12h, 7d)."`
	StateDir string   `name:"state-dir" placeholder:"DIR" help:"The state directory with the books."`
	JSON     bool     `name:"json" help:"Print a JSON object for each turn."`
}

// Help is shown below the flags.
func (usageCmd) Help() string {
	return `Agents report tokens in several ways; here they have one meaning: in is all that
went to the model, what came out of its cache included, and out all that came
from it, its thoughts included. Most builds of the Antigravity server report
nothing, or only how full the context is.

  acp-shim usage                       what was used through the shim on this machine
  acp-shim usage --since 7d --by model
  acp-shim usage captures/             the same of captures`
}

func (c usageCmd) Run() error {
	since, err := whenSince(c.Since, time.Now())
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(stdout, 64<<10)
	defer out.Flush()
	book := &book{since: since}
	var writing error
	if c.JSON {
		book.line = func(u state.Used) {
			if writing == nil {
				writing = printJSON(out, u)
			}
		}
	}
	where := "the books"
	if len(c.Path) == 0 {
		dir := stateDirOf(c.StateDir)
		if err := state.At(dir).Books(book.add); err != nil {
			return err
		}
	} else {
		where = strings.Join(c.Path, ", ")
		if err := c.captures(book); err != nil {
			out.Flush()
			return failed(err)
		}
	}
	if !c.JSON {
		t := newTables(out)
		t.usage(book, c.By, where)
		writing = t.err
	}
	return cmp.Or(writing, out.Flush())
}

// captures puts the turns of captures into the book.
func (c usageCmd) captures(b *book) error {
	d := &damage{}
	// One for all files: those of one run follow one another.
	collect := &stats.Collector{Turn: func(t stats.Turn) { b.turn(&t) }}
	defer collect.End()
	for _, path := range c.Path {
		var failure error
		err := capturesIn(path, func(file string) {
			err := records(captures([]string{file}, true), d, func(r *trace.Record) error {
				collect.Add(r)
				return nil
			})
			failure = errors.Join(failure, err)
		})
		if err := cmp.Or(err, failure); err != nil {
			return err
		}
	}
	return nil
}

// whenSince is the time that a --since means; the zero time for none.
func whenSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation("2006-01-02", text, now.Location()); err == nil {
		return t, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--since %q is neither a day (2026-11-30) nor a time (12h, 7d)", shown(text))
}

// book has what was used, summed up three ways.
type book struct {
	since time.Time
	line  func(state.Used) // of each turn; may be nil

	turns                  int
	all                    usage.Tokens
	days, models, sessions sums
}

// sum is what falls to one day, model or session.
type sum struct {
	name  string
	turns int
	usage.Tokens
	last     time.Time
	model    string
	context  int64
	window   int64
	cost     float64
	currency string
}

type sums map[string]*sum

func (s *sums) add(name string, u *state.Used) {
	if *s == nil {
		*s = sums{}
	}
	x := (*s)[name]
	if x == nil {
		x = &sum{name: name}
		(*s)[name] = x
	}
	x.turns++
	x.Tokens = x.Plus(u.Tokens)
	if !u.At.Before(x.last) {
		x.last, x.model = u.At, cmp.Or(u.Model, x.model)
		x.context, x.window = cmp.Or(u.Context, x.context), cmp.Or(u.Window, x.window)
		x.cost, x.currency = cmp.Or(u.Cost, x.cost), cmp.Or(u.Currency, x.currency)
	}
}

func (s sums) list(less func(a, b *sum) int) []*sum {
	list := make([]*sum, 0, len(s))
	for _, x := range s {
		list = append(list, x)
	}
	slices.SortFunc(list, less)
	return list
}

func (b *book) add(u state.Used) {
	if u.At.Before(b.since) {
		return
	}
	if b.line != nil {
		b.line(u)
		return
	}
	b.turns++
	b.all = b.all.Plus(u.Tokens)
	day := "unknown"
	if !u.At.IsZero() {
		day = u.At.Local().Format(time.DateOnly)
	}
	b.days.add(day, &u)
	b.models.add(cmp.Or(u.Model, "unknown"), &u)
	b.sessions.add(u.Session, &u)
}

// turn takes a turn of a capture, if anything was reported in it.
func (b *book) turn(t *stats.Turn) {
	if t.Usage == nil {
		return
	}
	u := t.Usage
	b.add(state.Used{At: t.At, Session: t.Session, Model: t.Model, Build: t.Build, Tokens: u.Tokens,
		Context: u.Used, Window: u.Size, Cost: u.Cost, Currency: u.Currency})
}
