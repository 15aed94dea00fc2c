package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/internal/probe"
	"acp-shim/internal/show"
)

// probeTable prints reports for a person.
type probeTable struct {
	*painter
	brief bool
	err   error
}

const (
	gateWidth    = 17
	verdictWidth = 8
)

func newProbeTable(w io.Writer, brief bool) *probeTable {
	p := newPainter(stdout)
	p.w = w
	return &probeTable{painter: p, brief: brief}
}

func (t *probeTable) line(s string) {
	if _, err := io.WriteString(t.w, strings.TrimRight(s, " ")+"\n"); err != nil && t.err == nil {
		t.err = fmt.Errorf("writing: %w", err)
	}
}

func verdictColor(v probe.Verdict) string {
	switch v {
	case probe.Pass:
		return green
	case probe.Fallback:
		return yellow
	case probe.Fail:
		return red
	}
	return dim
}

// verdict is one in its column.
func (t *probeTable) verdict(v probe.Verdict) string {
	return t.paint(verdictColor(v), fmt.Sprintf("%-*s", verdictWidth, v))
}

// wrapped prints text behind an indent, on as many lines as it takes.
func (t *probeTable) wrapped(head string, indent int, color, text string) {
	room := max(columns()-indent, 30)
	for text != "" {
		piece := text
		if show.Width(piece) > room {
			piece = show.Clip(text, room)
			piece = strings.TrimSuffix(piece, "…")
			if i := strings.LastIndexByte(piece, ' '); i > room/2 {
				piece = piece[:i]
			}
		}
		text = strings.TrimPrefix(text[len(piece):], " ")
		if color != "" {
			piece = t.paint(color, piece)
		}
		t.line(head + piece)
		head = strings.Repeat(" ", indent)
	}
}

func (t *probeTable) print(r *probe.Report) error {
	t.line(t.paint(bold, agentLine(r.Agent)))
	if r.Through != nil {
		return t.both(r)
	}
	t.line("")
	for i := range r.Gates {
		t.gate(&r.Gates[i])
	}
	t.summary(r)
	return t.err
}

func (t *probeTable) gate(g *probe.Result) {
	indent := gateWidth + verdictWidth + 4
	head := t.paint(bold, fmt.Sprintf("%-*s", gateWidth, g.ID)) + "  " + t.verdict(g.Verdict) + "  "
	text := g.Title + ": " + cleanLine(g.Figure)
	if g.Next != "" {
		text += " → " + cleanLine(g.Next)
	}
	if t.brief {
		t.line(head + show.Clip(text, max(columns()-indent, 30)))
		return
	}
	t.wrapped(head, indent, "", text)
	t.wrapped(strings.Repeat(" ", indent), indent, dim, "wants: "+g.Criterion+" ("+g.Source+")")
	const most = 3
	for i, p := range g.Proofs {
		if i == most {
			var seqs []string
			for _, p := range g.Proofs[most:] {
				seqs = append(seqs, fmt.Sprint(p.Seq))
			}
			t.wrapped(strings.Repeat(" ", indent), indent, dim, "and "+strings.Join(seqs, ", "))
			break
		}
		line := fmt.Sprintf("%6d %s ", p.Seq, arrow(p.From))
		t.line(strings.Repeat(" ", indent) + t.paint(dim, line+show.Clip(gist(p.Text), max(columns()-indent-len([]rune(line)), 20))))
	}
}

// gist is a frame without what all frames have.
func gist(text string) string {
	return strings.Replace(cleanLine(text), `"jsonrpc":"2.0",`, "", 1)
}

// arrow shows which way a line went, the client on the left.
func arrow(from string) string {
	switch {
	case from == "client":
		return "→"
	case strings.HasPrefix(from, "agent"):
		return "←"
	}
	return "•"
}

func (t *probeTable) summary(r *probe.Report) {
	t.line("")
	t.line(countsLine(r))
	if !r.Live {
		t.line("What spends quota was not tried: add --live.")
	}
	if r.Capture != "" {
		t.line("capture  " + shown(r.Capture))
	}
	t.left(r)
}

func (t *probeTable) left(r *probe.Report) {
	if len(r.Left) == 0 {
		return
	}
	t.wrapped("left     ", 9, "", fmt.Sprintf("%s that the agent did not delete: %s", counted(len(r.Left), "conversation"), shown(strings.Join(r.Left, " "))))
}

func countsLine(r *probe.Report) string {
	n := r.Counts()
	return fmt.Sprintf("%d PASS, %d FALLBACK, %d FAIL, %d NOT-RUN", n[probe.Pass], n[probe.Fallback], n[probe.Fail], n[probe.NotRun])
}

// agentLine is who was probed.
func agentLine(a probe.Agent) string {
	info := gjson.ParseBytes(a.Info)
	name := strings.TrimSpace(info.Get("name").Str + " " + info.Get("version").String())
	name = show.Clip(cleanLine(name), 80)
	argv := show.Clip(cleanLine(strings.Join(a.Argv, " ")), max(columns()-show.Width(name)-4, 20))
	return cmp.Or(name, "an agent without a name") + "  " + argv
}

// both prints a report and the one through the shim side by side.
func (t *probeTable) both(r *probe.Report) error {
	t.line(t.paint(dim, fmt.Sprintf("%-*s  %-*s  %-*s", gateWidth, "GATE", verdictWidth, "BARE", verdictWidth, "THROUGH THE SHIM")))
	indent := gateWidth + 2*verdictWidth + 6
	for i := range r.Through.Gates {
		b := &r.Through.Gates[i]
		a := r.Gate(b.ID)
		if a == nil {
			continue // a report that somebody has changed
		}
		head := t.paint(bold, fmt.Sprintf("%-*s", gateWidth, b.ID)) + "  " + t.verdict(a.Verdict) + "  " + t.verdict(b.Verdict) + "  "
		text := b.Title + ": " + cleanLine(b.Figure)
		if t.brief {
			t.line(head + show.Clip(text, max(columns()-indent, 30)))
			continue
		}
		t.wrapped(head, indent, "", text)
		if a.Verdict != b.Verdict {
			t.wrapped(strings.Repeat(" ", indent), indent, dim, "bare: "+cleanLine(a.Figure))
		}
	}
	t.line("")
	for _, side := range []struct {
		name string
		r    *probe.Report
	}{{"bare   ", r}, {"through", r.Through}} {
		t.line(side.name + "  " + countsLine(side.r))
		if side.r.Capture != "" {
			t.line("         capture " + shown(side.r.Capture))
		}
		t.left(side.r)
	}
	if !r.Live {
		t.line("What spends quota was not tried: add --live.")
	}
	return t.err
}

func (t *probeTable) comparison(c *probe.Comparison) error {
	t.line(t.paint(red, "- "+c.Old.Time+"  "+agentLine(c.Old.Agent)))
	t.line(t.paint(green, "+ "+c.New.Time+"  "+agentLine(c.New.Agent)))
	t.line("")
	for _, x := range c.Changes {
		color := map[string]string{probe.Better: green, probe.Worse: red}[x.Way]
		what := x.Kind
		if x.Name != "" {
			what = x.Name
		}
		head := t.paint(bold, fmt.Sprintf("%-*s", gateWidth, x.Gate)) + "  "
		t.wrapped(head, gateWidth+2, color, fmt.Sprintf("%s: %s → %s%s", cleanLine(what), cleanLine(x.Old), cleanLine(x.New), wayText(x.Way)))
	}
	switch {
	case len(c.Changes) == 0:
		t.line("nothing has changed")
	default:
		t.line("")
		t.line(counted(len(c.Changes), "change"))
	}
	if len(c.NotCompared) > 0 {
		t.wrapped("not compared: ", 14, "", strings.Join(c.NotCompared, ", "))
	}
	return t.err
}

func wayText(way string) string {
	if way == probe.Changed {
		return ""
	}
	return " (" + way + ")"
}
