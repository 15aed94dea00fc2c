package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"acp-shim/internal/install"
)

// longTime is after what a step tells that it is at work.
const longTime = time.Second

// meter shows how far a long step is: a bar on a terminal, elsewhere a line for
// each step that takes long.
type meter struct {
	out   *os.File
	bar   *progressbar.ProgressBar
	isTTY bool
	name  string
	since time.Time
	told  bool
}

func newMeter(out *os.File) *meter {
	return &meter{out: out, isTTY: showsBars(out)}
}

// showsBars tells that a bar can be drawn there, again and again on one line.
func showsBars(out *os.File) bool {
	return term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}

// newBar is a bar for so many bytes.
func newBar(out io.Writer, size int64, label string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(label),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(24), progressbar.OptionEnableColorCodes(false), progressbar.OptionSetPredictTime(true))
}

// stageWords is what a step is called.
func stageWords(s install.Stage) string {
	switch s.Name {
	case "registry":
		host := s.From
		if u, err := url.Parse(s.From); err == nil && u.Host != "" {
			host = u.Host
		}
		return "asking the registry " + host + " …"
	case "download":
		return "downloading " + s.From
	case "check":
		return "checking the archive"
	case "unpack":
		return "unpacking"
	}
	return "comparing the files"
}

func (m *meter) stage(s install.Stage) {
	if s.Name == "retry" {
		m.end()
		fmt.Fprintf(m.out, "acp-shim: %s; trying again in %s\n", shown(s.Note), s.Wait)
		return
	}
	if s.Name != m.name {
		m.end()
		m.name, m.since, m.told = s.Name, time.Now(), false
		if s.Name == "registry" {
			m.told = true
			fmt.Fprintln(m.out, "acp-shim: "+shown(stageWords(s)))
		}
	}
	switch {
	case m.isTTY && s.All > 0 && s.Name != "registry":
		m.show(s)
	case !m.isTTY && !m.told && time.Since(m.since) > longTime:
		m.told = true
		text := shown(stageWords(s))
		if s.All > 0 {
			text += " (" + install.Bytes(s.All) + ")"
		}
		fmt.Fprintln(m.out, "acp-shim: "+text)
	}
}

func (m *meter) show(s install.Stage) {
	if m.bar == nil {
		label := stageWords(s)
		if s.Name == "download" {
			label = "downloading"
		}
		m.bar = newBar(m.out, s.All, label)
	}
	m.bar.Set64(min(s.Done, s.All))
}

// end takes the bar away.
func (m *meter) end() {
	if m.bar != nil {
		m.bar.Clear()
		m.bar = nil
	}
	m.name = ""
}
