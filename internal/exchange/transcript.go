package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Transcript writes a capture as Markdown, to go into a bug report: who talked, what
// each turn was about, and the frames of what went wrong. Secrets are always left
// out. Turns come when they end.
type Transcript struct {
	Out io.Writer

	talk  conversation
	n     int  // turns
	inner bool // lines between turns were the last
	blank bool // an empty line was
	names show.Names
	// stderr are the last lines of each process, which tell why it ended badly.
	stderr map[int][]string
}

const (
	lastLines    = 20
	maxProcesses = 64
)

// Add takes the next record.
func (t *Transcript) Add(r *trace.Record) error {
	t.talk.content = true
	var b strings.Builder
	if r.Kind == trace.Header && !r.Continued {
		t.cutOff(&b)
	}
	of, over := t.talk.add(r)
	switch {
	case r.Kind == trace.Header:
		t.header(&b, r)
	case r.Kind == trace.Event:
		t.event(&b, r)
	case over:
		t.turn(&b, of, r.T)
	case of == nil:
		t.between(&b, r)
	}
	return t.write(&b)
}

// End writes the turns that the capture's end has cut off.
func (t *Transcript) End() error {
	var b strings.Builder
	t.cutOff(&b)
	return t.write(&b)
}

func (t *Transcript) write(b *strings.Builder) error {
	if b.Len() == 0 {
		return nil
	}
	text := b.String()
	if t.blank {
		text = strings.TrimPrefix(text, "\n")
	}
	t.blank = strings.HasSuffix(text, "\n\n")
	_, err := io.WriteString(t.Out, text)
	return err
}

func (t *Transcript) header(b *strings.Builder, r *trace.Record) {
	if r.Continued {
		return
	}
	h := r.Header
	if r.Run > 1 {
		b.WriteString("\n")
	}
	t.stderr = nil
	fmt.Fprintf(b, "# ACP conversation of %s\n\n", h.Start.UTC().Format("2006-01-02 15:04:05 UTC"))
	fmt.Fprintf(b, "- Recorded by acp-shim %s\n", secretless(h.Shim))
	if h.Agent.Name != "" {
		line := "- Agent " + secretless(h.Agent.Name)
		if len(h.Agent.Argv) > 0 {
			// As JSON, in which the redactor knows a flag from its value.
			argv, _ := json.Marshal(h.Agent.Argv)
			line += ", started as " + code(show.Begin(string(record.Redact(argv)), 2000))
		}
		b.WriteString(line + "\n")
	}
	t.inner = true
}

// between writes what happened outside of turns.
func (t *Transcript) between(b *strings.Builder, r *trace.Record) {
	switch {
	case r.Kind == trace.Request && r.Method == acp.AgentMethodInitialize && r.From == proxy.Client && !r.Again:
		t.client(b, r)
	case r.Kind == trace.Response && r.Method == acp.AgentMethodInitialize && !r.Failed && r.Request != nil && r.Request.From == proxy.Client:
		t.agent(b, r)
	case r.Kind == trace.Response && r.Delivered():
		t.line(b, r, secretless(r.Method)+" "+t.outcome(r))
		if r.Failed {
			b.WriteString("\n" + t.frame(r) + "\n")
		}
	case r.Kind == trace.Other && r.From.Gen() > 0:
		t.line(b, r, "the agent printed "+secretless(show.Begin(strings.TrimSpace(string(r.Body)), 300))+", which is no message")
	}
}

func (t *Transcript) outcome(r *trace.Record) string {
	s := "answered after " + show.Duration(r.Took)
	if r.Request == nil {
		s = "an answer that nobody asked for"
	}
	if r.Failed {
		return fmt.Sprintf("**failed** after %s: error %d, %s", show.Duration(r.Took), r.Code, secretless(show.Begin(r.Message, 500)))
	}
	if gist := show.Gist(r); gist != "" {
		s += ": " + secretless(show.Begin(gist, 300))
	}
	return s
}

// line writes a line of a list, under a heading where a turn came before.
func (t *Transcript) line(b *strings.Builder, r *trace.Record, text string) {
	if !t.inner {
		b.WriteString("\n## Between turns\n\n")
		t.inner = true
	}
	if r.Session != "" {
		text += ", session " + code(t.names.Short(r.Session))
	}
	fmt.Fprintf(b, "- %.3f s: %s\n", r.T.Seconds(), text)
}

func (t *Transcript) client(b *strings.Builder, r *trace.Record) {
	p := gjson.GetBytes(r.Body, "params")
	t.line(b, r, "client "+named(p.Get("clientInfo"))+", protocol "+secretless(p.Get("protocolVersion").Raw))
	t.capabilities(b, "What the client can do", p.Get("clientCapabilities"))
}

func (t *Transcript) agent(b *strings.Builder, r *trace.Record) {
	x := gjson.GetBytes(r.Body, "result")
	t.line(b, r, "agent "+named(x.Get("agentInfo"))+", protocol "+secretless(x.Get("protocolVersion").Raw)+", after "+show.Duration(r.Took))
	t.capabilities(b, "What the agent can do", x.Get("agentCapabilities"))
}

func named(info gjson.Result) string {
	if name := info.Get("name").String(); name != "" {
		return secretless(name) + " " + secretless(info.Get("version").String())
	}
	return "without a name"
}

func (t *Transcript) capabilities(b *strings.Builder, title string, v gjson.Result) {
	if v.IsObject() {
		b.WriteString("\n" + details(title, block("json", indented(record.Redact([]byte(v.Raw))))) + "\n")
	}
}

// indented is JSON in lines, but not more than can be looked at.
func indented(raw []byte) string {
	var b bytes.Buffer
	if len(raw) > maxPart || json.Indent(&b, raw, "", "  ") != nil {
		return show.Begin(string(raw), maxPart)
	}
	return b.String()
}

func (t *Transcript) event(b *strings.Builder, r *trace.Record) {
	switch r.Event {
	case "stderr":
		t.lastLine(r)
		return
	case "end":
		return
	}
	text := code(r.Event)
	if r.Process() > 0 {
		text += " of " + show.Agent(r.Process())
	}
	if gist := show.Gist(r); gist != "" {
		text += ": " + secretless(show.Begin(gist, 300))
	}
	if show.Wrong(r) {
		text = "**went wrong**: " + text
	}
	t.line(b, r, text)
	if lines := t.stderr[r.Process()]; r.Event == "exit" {
		if show.Wrong(r) && len(lines) > 0 {
			b.WriteString("\n" + details("Its last lines of stderr", block("text", strings.Join(lines, ""))) + "\n")
		}
		delete(t.stderr, r.Process())
	}
}

func (t *Transcript) lastLine(r *trace.Record) {
	if t.stderr == nil {
		t.stderr = map[int][]string{}
	}
	lines, ok := t.stderr[r.Process()]
	if !ok && len(t.stderr) >= maxProcesses {
		return
	}
	if len(lines) == lastLines {
		lines = slices.Delete(lines, 0, 1)
	}
	line := show.Begin(string(record.RedactText(r.Text)), 1000)
	if !strings.HasSuffix(line, "\n") {
		line += "\n"
	}
	t.stderr[r.Process()] = append(lines, line)
}

// frame is a frame folded away.
func (t *Transcript) frame(r *trace.Record) string {
	line := record.Redact(bytes.TrimSpace(r.Sent()))
	return details(fmt.Sprintf("Frame %d", r.Seq), block("json", both(t.talk.question, []byte(show.Begin(string(line), maxPart)))))
}

func (t *Transcript) cutOff(b *strings.Builder) {
	for _, of := range t.talk.rest() {
		t.turn(b, of, 0)
	}
}

// since is a time in a turn, "" for one that did not come.
func since(from, to time.Duration) string {
	if to == 0 {
		return ""
	}
	return show.Duration(to - from)
}
