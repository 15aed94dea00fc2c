package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"acp-shim/internal/show"
)

const (
	// maxDays and maxRows bound what is printed; --json has all.
	maxDays = 31
	maxRows = 20
	barSize = 36
)

// usage prints the book.
func (t *tables) usage(b *book, by, where string) {
	if b.turns == 0 {
		t.write("No tokens were reported: none are in " + shown(where) + " in that time.")
		t.write(t.paint(dim, "Most builds of the Antigravity server report none; acp-shim status says whether yours does."))
		return
	}
	if by == "all" || by == "day" {
		t.usageDays(b)
	}
	if by == "all" || by == "model" {
		t.usageTable("MODEL", 36, b.models, true)
	}
	if by == "all" || by == "session" {
		t.usageTable("SESSION", 36, b.sessions, false)
	}
	line := show.Count(b.turns, "turn") + " in " + show.Count(len(b.sessions), "session")
	if b.all.Total > 0 {
		line += fmt.Sprintf(" · %s tokens in, %s out", full(b.all.Input), full(b.all.Output))
		if b.all.Cached > 0 && b.all.Input > 0 {
			line += fmt.Sprintf(", %d%% of the input cached", part(b.all.Cached, b.all.Input, 100))
		}
	}
	t.write(line)
	if b.all.Total == 0 {
		t.write(t.paint(dim, "this agent reports only how full the context is"))
	}
	t.write(t.paint(dim, "turns without a report are not counted"))
}

// usageDays is the chart: a bar a day, its input light and its output full. Where an
// agent reports only its context, the bars are of turns.
func (t *tables) usageDays(b *book) {
	days := b.days.list(func(x, y *sum) int { return cmp.Compare(x.name, y.name) })
	if left := len(days) - maxDays; left > 0 {
		t.write(t.paint(dim, show.Count(left, "earlier day")+" left out"))
		days = days[left:]
	}
	size := func(x *sum) int64 { return x.Total }
	head := "TOKENS"
	if b.all.Total == 0 {
		size, head = func(x *sum) int64 { return int64(x.turns) }, "TURNS"
	}
	most := int64(1)
	for _, x := range days {
		most = max(most, size(x))
	}
	t.write(t.paint(bold, fmt.Sprintf("%-10s %9s", "DAY", head)))
	for _, x := range days {
		n := int(math.Ceil(float64(size(x)) * barSize / float64(most)))
		in := 0
		if x.Total > 0 {
			in = min(part(x.Input, x.Total, n), n)
		}
		bar := t.paint(dim, strings.Repeat("▒", in)) + strings.Repeat("█", n-in)
		t.write(fmt.Sprintf("%-10s %9s  %s", x.name, full(size(x)), bar))
	}
	t.write("")
}

func (t *tables) usageTable(head string, width int, of sums, byTokens bool) {
	rows := of.list(func(x, y *sum) int {
		if byTokens {
			return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(y.turns, x.turns), cmp.Compare(x.name, y.name))
		}
		return cmp.Or(y.last.Compare(x.last), cmp.Compare(x.name, y.name))
	})
	left := len(rows) - maxRows
	if left > 0 {
		rows = rows[:maxRows]
	}
	last := "CONTEXT"
	if byTokens {
		last = ""
	}
	t.write(t.paint(bold, fmt.Sprintf("%s %6s %9s %9s %9s %9s  %s", show.Pad(head, width), "TURNS", "IN", "CACHED", "OUT", "THOUGHT", last)))
	for _, x := range rows {
		more := ""
		if !byTokens && x.context > 0 {
			more = full(x.context)
			if x.window > 0 {
				more += fmt.Sprintf(" (%d%%)", part(x.context, x.window, 100))
			}
		}
		if !byTokens && x.currency != "" {
			more += fmt.Sprintf("  %.2f %s", x.cost, shown(show.Clip(x.currency, 8)))
		}
		t.write(fmt.Sprintf("%s %6d %9s %9s %9s %9s  %s", show.Pad(show.Clip(shown(x.name), width), width), x.turns,
			full(x.Input), full(x.Cached), full(x.Output), full(x.Thought), more))
	}
	if left > 0 {
		t.write(t.paint(dim, fmt.Sprintf("… and %d more; --json has all", left)))
	}
	t.write("")
}

// part is how many of the steps of a whole a part of it is.
func part(of, whole int64, steps int) int {
	return int(float64(of) * float64(steps) / float64(whole))
}

// full is a figure of tokens, "-" for none.
func full(n int64) string { return cmp.Or(number(n), "-") }
