package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"acp-shim/internal/show"
	"acp-shim/internal/stats"
	"acp-shim/usage"
)

// tables prints figures for a person.
type tables struct {
	*painter
	names show.Names
	turns int
	run   int
	err   error
}

func newTables(w io.Writer) *tables {
	p := newPainter(stdout)
	p.w = w
	return &tables{painter: p}
}

func (t *tables) write(line string) {
	if _, err := io.WriteString(t.w, strings.TrimRight(line, " ")+"\n"); err != nil && t.err == nil {
		t.err = fmt.Errorf("writing: %w", err)
	}
}

const turnFormat = "%6s %8s  %s %6s %6s %6s %6s %7s %6s %6s %9s %6s %6s  %s"

func (t *tables) turn(x stats.Turn) {
	if t.turns++; t.turns == 1 {
		t.write(t.paint(bold, fmt.Sprintf(turnFormat, "SEQ", "START", show.Pad("SESSION", show.ShortName), "TOOK", "FIRST", "CHUNKS", "RATE",
			"GAP P50", "P99", "MAX", "TOOLS", "ASKED", "TOKENS", "END")))
	} else if x.Run != t.run {
		t.write("")
	}
	t.run = x.Run
	rate := ""
	// Of a burst that came in a few reads it says nothing.
	if x.Rate > 0 && float64(x.Chunks-1)/x.Rate >= 0.01 {
		rate = show.Rate(1e6, time.Duration(1e6/x.Rate*1e9))
	}
	tools := ""
	if x.ToolCalls > 0 {
		tools = fmt.Sprintf("%d %6s", x.ToolCalls, show.Duration(x.Tools))
	}
	end, color := x.Stop, ""
	switch {
	case x.CutOff:
		end, color = "(cut off)", dim
	case x.Failure != "":
		end, color = "error: "+x.Failure, red
	case x.Stop == "":
		end, color = "error", red
	case x.Stop != "end_turn":
		color = yellow
	}
	end = show.Clip(show.Clean(end), max(columns()-101, 12))
	if color != "" {
		end = t.paint(color, end)
	}
	t.write(fmt.Sprintf(turnFormat, fmt.Sprint(x.Seq), fmt.Sprintf("%.3f", x.Start.Seconds()), show.Pad(t.names.Short(x.Session), show.ShortName),
		show.Duration(x.Took), some(x.First), number(int64(x.Chunks)), rate, some(x.GapP50), some(x.GapP99), some(x.GapMax),
		tools, some(x.Asked), tokenCount(x.Usage), end))
}

// some is a duration, or nothing where there is none.
func some(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return show.Duration(d)
}

// number is a count in few digits, or nothing where there is none.
func number(n int64) string {
	switch {
	case n == 0:
		return ""
	case n < 100_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.0fM", float64(n)/1e6)
}

// tokenCount is the one figure for a table: all of a turn, or the context that is
// full.
func tokenCount(u *usage.Totals) string {
	if u == nil {
		return ""
	}
	return number(cmp.Or(u.Total, u.Input+u.Output, u.Used))
}

func (t *tables) turnsEnd(s *stats.Summary) {
	if s.Turns == 0 {
		t.write(t.paint(dim, "no turn is in it"))
		return
	}
	if s.Turns > 1 {
		row := func(name string, p float64) {
			t.write(t.paint(dim, fmt.Sprintf(turnFormat, "", "", show.Pad(name, show.ShortName), some(s.Took.At(p)), some(s.First.At(p)), "", "",
				some(s.Gaps.At(p)), "", "", "", "", "", "")))
		}
		row("p50", 0.5)
		row("p99", 0.99)
		row("max", 1)
	}
	line := show.Count(s.Turns, "turn") + ": " + counts(s.Stops)
	if s.CutOff > 0 {
		line += fmt.Sprintf(", cut off ×%d", s.CutOff)
	}
	if s.Chunks > 0 {
		line += fmt.Sprintf(" · %s of text in %s", show.Bytes(s.Bytes), show.Count(int(s.Chunks), "chunk"))
	}
	if s.Tools > 0 {
		line += " · tools " + show.Duration(s.Tools)
	}
	if s.Asked > 0 {
		line += " · asked " + show.Duration(s.Asked)
	}
	t.write(line)
}

const methodFormat = "%s %-6s %8s %7s %6s %8s %8s %8s"

func (t *tables) methods(list []*stats.Method) {
	if len(list) == 0 {
		return
	}
	t.write("")
	width := len("METHOD")
	for _, m := range list {
		width = min(max(width, show.Width(methodName(m))), 50)
	}
	t.write(t.paint(bold, fmt.Sprintf(methodFormat, show.Pad("METHOD", width), "FROM", "COUNT", "ERRORS", "OPEN", "P50", "P99", "MAX")))
	for _, m := range list {
		errors := fmt.Sprintf("%7s", number(m.Errors))
		if m.Errors > 0 {
			errors = t.paint(red, errors)
		}
		open := fmt.Sprintf("%6s", number(m.Open()))
		if m.Open() > 0 {
			open = t.paint(yellow, open)
		}
		line := fmt.Sprintf("%s %-6s %8s %s %s %8s %8s %8s", show.Pad(methodName(m), width), m.From, number(m.Count), errors, open,
			some(m.Took.At(0.5)), some(m.Took.At(0.99)), some(m.Took.Max()))
		t.write(line)
	}
}

func methodName(m *stats.Method) string {
	if m.Update != "" {
		return show.Clean(m.Method + " " + m.Update)
	}
	return show.Clean(m.Method)
}

func (t *tables) totals(x *stats.Totals) {
	t.write("")
	name := ""
	say := func(what, text string) {
		if what == name {
			what = ""
		} else {
			name = what
		}
		if text != "" {
			t.write(t.paint(bold, fmt.Sprintf("%-10s", what)) + " " + text)
		}
	}
	runs := fmt.Sprintf("%s in %s, %s and %s", show.Count(x.Runs, "run"), show.Duration(x.Time), show.Count(int(x.Frames), "frame"), show.Count(int(x.Events), "event"))
	if x.Ended < x.Runs {
		runs += fmt.Sprintf("; %d not ended in order", x.Runs-x.Ended)
	}
	say("Capture", runs)
	for _, e := range x.Edges {
		to := e.To
		if to == "nobody" {
			to = "✗"
		}
		frames := "frames"
		if e.Frames == 1 {
			frames = "frame "
		}
		say("Traffic", fmt.Sprintf("%6s → %-6s %8s %s %8s", e.From, to, number(e.Frames), frames, show.Bytes(e.Bytes)))
	}
	if x.Changed > 0 {
		say("Changed", show.Count(int(x.Changed), "frame"))
	}
	if len(x.Made) > 0 {
		say("Made", counts(x.Made))
	}
	if x.Held > 0 {
		say("Held", show.Count(int(x.Held), "request")+", sent later")
	}
	if len(x.Dropped) > 0 {
		say("Dropped", counts(x.Dropped))
	}
	if x.Replayed > 0 {
		say("Replayed", show.Count(int(x.Replayed), "update")+" of history, no part of any turn")
	}
	if x.NotMessages > 0 {
		say("No message", show.Count(int(x.NotMessages), "line"))
	}
	if x.NoAnswer > 0 {
		say("Unasked", show.Count(int(x.NoAnswer), "answer")+" to nothing")
	}
	if x.Processes > 0 {
		text := fmt.Sprint(x.Processes)
		if x.Condemned > 0 {
			text += fmt.Sprintf(", ended by the shim %d", x.Condemned)
		}
		if len(x.Exits) > 0 {
			text += ": " + counts(x.Exits)
		}
		say("Processes", text)
	}
	say("Cancels", counts(x.Cancels))
	say("Restores", counts(x.Restores))
	if x.Stalls > 0 {
		say("Stalls", fmt.Sprint(x.Stalls))
	}
	if x.Gaps > 0 {
		say("Lost", t.paint(red, fmt.Sprintf("%s: %s and %s, %s", show.Count(int(x.Gaps), "gap"), show.Count(int(x.LostFrames), "frame"), show.Count(int(x.LostEvents), "event"), show.Bytes(x.LostBytes))))
	}
	if x.Damaged > 0 {
		say("Damaged", t.paint(red, show.Count(int(x.Damaged), "line")))
	}
}

// counts is how often each word was said, the most first.
func counts[N int | int64](m map[string]N) string {
	words := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	var list []string
	for _, w := range words {
		list = append(list, fmt.Sprintf("%s ×%d", show.Clean(w), m[w]))
	}
	return strings.Join(list, ", ")
}
