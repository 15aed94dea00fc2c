package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

// The colours are those of the terminal's own palette, so that they suit a light
// one as well as a dark one.
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	blue    = "34"
	magenta = "35"
	cyan    = "36"
	noted   = "1;33"
)

// layout puts rows into columns.
type layout struct {
	*painter
	width    int
	method   int // cells of that column
	names    show.Names
	titles   show.Titles
	seq      int // cells of the widest yet
	header   *trace.Record
	filtered bool // headers of runs in which nothing is wanted are left out
	full     bool
	err      error
}

func newLayout(w io.Writer, filtered, full bool) *layout {
	p := newPainter(stdout)
	p.w = w
	l := &layout{painter: p, width: columns(), method: 26, seq: 4, filtered: filtered, full: full}
	switch {
	case l.width < 80:
		l.method = 14
	case l.width < 110:
		l.method = 20
	}
	return l
}

func (l *layout) row(r *show.Row) {
	if r.Kind == trace.Header {
		l.header = r.Record
		if !l.filtered {
			l.run()
		}
		return
	}
	l.run()
	seq := fmt.Sprintf("%*d", l.seq, r.Seq)
	l.seq = max(l.seq, len(seq))
	left := seq + " " + fmt.Sprintf("%9.3f", r.T.Seconds()) + "  "
	from, arrow, to := ends(r.Record)
	mark, markColor := " ", ""
	switch {
	case show.Wrong(r.Record):
		mark, markColor = "!", "1;"+red
	case len(r.Edits) > 0 && r.Delivered():
		mark, markColor = "~", noted
	}
	session := show.Pad(l.names.Short(r.Session), show.ShortName)
	if l.width < 90 {
		session = ""
	} else {
		session += "  "
	}
	method := show.Pad(methodCell(r), l.method)
	dirColor, methodColor, textColor := colors(r.Record)
	dir := fmt.Sprintf("%6s %s %-8s", from, arrow, to)
	used := show.Width(left+dir+session+method) + 4
	l.write(l.paint(dim, left) + l.maybe(dirColor, dir) + " " + l.maybe(markColor, mark) + " " +
		l.maybe(dim, session) + l.maybe(methodColor, method) + " " + l.gist(r, textColor, max(l.width-used, 8)))
	if l.full && r.Event == "" {
		l.frame(r.Record)
	}
}

// ends are the two ends of a frame, the client's always on the left; of an event,
// whose it is.
func ends(r *trace.Record) (left, arrow, right string) {
	if r.Event != "" {
		if r.Process() > 0 {
			return "", "•", show.Agent(r.Process())
		}
		return "", "•", "shim"
	}
	from, to := show.Peer(r.From), show.Peer(show.Receiver(r))
	switch {
	case to == "" && r.Why == "held":
		to = "held"
	case to == "":
		to = "✗"
	}
	if place(r.From) <= place(show.Receiver(r)) {
		return from, "→", to
	}
	return to, "←", from
}

// place is where a peer stands from the left; nobody stands across the wire.
func place(p proxy.Peer) int {
	switch {
	case p == proxy.Client:
		return 0
	case p == proxy.Shim, p == proxy.Nobody:
		return 1
	}
	return 2
}

func methodCell(r *show.Row) string {
	name := r.Method
	switch {
	case r.Event != "":
		name = r.Event
	case r.History:
		name = r.Method
	case r.Update != "":
		name = r.Update
	case name == "" && r.Kind == trace.Response:
		name = "(answer to nothing)"
	case name == "":
		name = "(no message)"
	}
	if r.Count > 1 {
		return fmt.Sprintf("%s ×%d", show.Clean(name), r.Count)
	}
	return show.Clean(name)
}

func colors(r *trace.Record) (dir, method, text string) {
	switch {
	case r.Event == "stderr", r.Event == "end":
		return dim, dim, dim
	case r.Event != "" && show.Wrong(r):
		return blue, red, red
	case r.Event != "":
		return blue, blue, ""
	case show.Receiver(r) == proxy.Nobody:
		return dim, dim, dim
	case r.Failed:
		return red, dim, red
	case r.From == proxy.Shim || r.To == proxy.Shim:
		dir = magenta
	case r.From == proxy.Client:
		dir = cyan
	default:
		dir = green
	}
	switch r.Kind {
	case trace.Request:
		method = bold
	case trace.Response:
		method = dim
	}
	return dir, method, ""
}

func (l *layout) maybe(color, text string) string {
	if color == "" {
		return text
	}
	return l.paint(color, text)
}

// gist is the last column: how long it took, why it went nowhere or was made, what
// matters of it, and what the shim changed.
func (l *layout) gist(r *show.Row, color string, room int) string {
	var b strings.Builder
	put := func(color, text string, cells int) {
		if text = show.Clip(text, min(cells, room)); text != "" {
			room -= show.Width(text)
			b.WriteString(l.maybe(color, text))
		}
	}
	if r.Request != nil {
		put(bold, show.Duration(r.Took)+"  ", room)
	}
	// More of it would be clipped: a letter has four bytes, a few with their marks.
	gist := show.Clean(show.Begin(l.titles.Gist(r), 8*room))
	if why := show.Clean(r.Why); why != "" && why != "held" && why != "answers the shim" && why != gist {
		put(yellow, "["+why+"] ", room)
	}
	changed := ""
	if len(r.Edits) > 0 && r.Count == 1 && r.Delivered() {
		changed = "~ " + show.Clean(show.Changes(r.Record))
		if gist != "" {
			changed = "  " + changed
		}
	}
	put(color, gist, max(room-show.Width(changed), room/2))
	put(yellow, changed, room)
	return b.String()
}

// run prints the header of the run that what follows belongs to.
func (l *layout) run() {
	if l.header == nil {
		return
	}
	h := l.header
	l.header = nil
	text := runText(h.Header)
	if h.Continued {
		text = fmt.Sprintf("part %d", h.Header.Part)
	} else if h.Run > 1 && !l.filtered {
		l.write("")
	}
	text = show.Clip("── "+show.Clean(text)+" ", l.width)
	l.write(l.paint(dim, text+strings.Repeat("─", max(l.width-show.Width(text), 0))))
}

// runText says of a run when and with what it was.
func runText(h *record.Header) string {
	words := []string{h.Start.UTC().Format("2006-01-02 15:04:05 UTC"), "acp-shim " + h.Shim}
	if argv := h.Agent.Argv; len(argv) > 0 {
		words = append(words, strings.Join(append([]string{filepath.Base(argv[0])}, argv[1:]...), " "))
	} else if h.Agent.Name != "" {
		words = append(words, h.Agent.Name)
	}
	if !h.Redacted {
		words = append(words, "raw: it has its secrets")
	}
	return strings.Join(words, " · ")
}

// frame prints a frame as it was sent, and what the shim changed in it.
func (l *layout) frame(r *trace.Record) {
	text := r.Body
	var b bytes.Buffer
	if r.JSON && json.Indent(&b, r.Body, "    ", "  ") == nil {
		text = b.Bytes()
	}
	l.write("    " + string(escaped(bytes.ToValidUTF8(text, []byte("\ufffd")))))
	for _, e := range r.Edits {
		l.write("    " + l.paint(yellow, fmt.Sprintf("~ at byte %d: %s → %s", e.At, quoted(e.Old), quoted(e.New))))
	}
	l.write("")
}

func quoted(text string) string {
	if text == "" {
		return "nothing"
	}
	return show.Clean(text)
}

func (l *layout) write(line string) {
	if _, err := io.WriteString(l.w, strings.TrimRight(line, " ")+"\n"); err != nil && l.err == nil {
		l.err = fmt.Errorf("writing: %w", err)
	}
}
