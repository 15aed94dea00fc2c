package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tidwall/gjson"
	"golang.org/x/term"

	"acp-shim/internal/show"
	"acp-shim/proxy"
	"acp-shim/record"
)

// painter writes for a person: coloured on a terminal, plain elsewhere.
type painter struct {
	w     io.Writer
	color bool
	n     int
}

func newPainter(f *printer) *painter {
	return &painter{w: f, color: term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""}
}

func (p *painter) paint(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *painter) line(s string) { fmt.Fprintln(p.w, s) }

func (p *painter) title(s string) { p.line(p.paint("1", s) + "\n") }

func (p *painter) step(s string) {
	p.n++
	p.line(p.paint("36", fmt.Sprintf("%d.", p.n)) + " " + s)
}

func (p *painter) said(list ...string) {
	for _, s := range list {
		p.line("   " + p.paint("2", "→ ") + shown(s))
	}
}

// showCapture tells from the capture what the shim did: that it is there is part
// of what is shown.
func showCapture(p *painter, path string) error {
	c, err := record.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	p.line("")
	p.title("What the shim did, from the capture")
	var frames, changed int
	for e, err := range c.Entries() {
		if err != nil {
			return err
		}
		at := fmt.Sprintf("%7.3fs  ", e.T.Seconds())
		if e.IsFrame() {
			frames++
			if len(e.Edits) > 0 && e.To != proxy.Nobody {
				changed++
				what, how := describe(e)
				p.line(at + p.paint("33", what) + "  " + how)
			} else if e.From == proxy.Shim && e.To == proxy.Client {
				p.line(at + p.paint("32", "answered  ") + "  " + short(e.Body))
			} else if e.From == proxy.Shim {
				p.line(at + p.paint("35", "asked     ") + "  " + short(e.Body))
			}
			continue
		}
		switch e.Event {
		case "cancel", "restore":
			p.line(at + p.paint("31", fmt.Sprintf("%-10s", e.Event)) + "  " + shown(string(e.Text)))
		case "spawn":
			p.line(at + p.paint("34", "started   ") + fmt.Sprintf("  agent process %d", e.Agent))
		case "exit":
			p.line(at + p.paint("34", "gone      ") + fmt.Sprintf("  agent process %d %s", e.Agent, shown(string(e.Text))))
		}
	}
	p.line(fmt.Sprintf("\n%s, %d of them changed.", show.Count(frames, "frame"), changed))
	return nil
}

// describe says what was changed in a frame.
func describe(e record.Entry) (what, how string) {
	method := gjson.GetBytes(e.Body, "method").Str
	var list []string
	what = "rewritten "
	for _, x := range e.Edits {
		if strings.Contains(x.New, "pi-bridge") {
			what = "injected  "
		}
		switch {
		case x.Old == "":
			list = append(list, "+ "+x.New)
		case x.New == "":
			list = append(list, "- "+x.Old)
		default:
			list = append(list, x.Old+" → "+x.New)
		}
	}
	return what, method + ": " + clip(shown(strings.Join(list, ", ")), 150)
}

func short(frame []byte) string {
	frame = bytes.TrimPrefix(frame, []byte(`{"jsonrpc":"2.0",`))
	return clip(shown(string(frame)), 110)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
