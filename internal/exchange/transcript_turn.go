package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"acp-shim/internal/show"
	"acp-shim/record"
	"acp-shim/usage"
)

// turn writes a turn, which is over, or cut off where end is 0.
func (t *Transcript) turn(b *strings.Builder, of *turn, end time.Duration) {
	t.n++
	t.inner = false
	how := "cut off by the end of the capture"
	switch {
	case of.failure.is:
		how = fmt.Sprintf("error %d after %s", of.failure.code, show.Duration(of.Took()))
	case end > 0:
		how = secretless(of.Stop) + " after " + show.Duration(of.Took())
		if of.Stop == "" {
			how = "answered after " + show.Duration(of.Took())
		}
	}
	fmt.Fprintf(b, "\n## Turn %d: %s\n\n", t.n, how)
	facts := []string{fmt.Sprintf("seq %d, at %.3f s", of.Prompt.Seq, of.Prompt.T.Seconds())}
	if of.Session != "" {
		facts = append(facts, "session "+code(t.names.Short(of.Session)))
	}
	if of.process > 0 {
		facts = append(facts, show.Agent(of.process))
	}
	if s := since(of.Prompt.T, of.First); s != "" {
		facts = append(facts, "first chunk after "+s)
	}
	if of.Chunks > 0 {
		facts = append(facts, show.Count(of.Chunks, "chunk")+", the longest gap "+show.Duration(of.LongestGap))
	}
	if s := spent(&of.usage); s != "" {
		facts = append(facts, s)
	}
	b.WriteString(strings.Join(facts, ", ") + ".\n")
	said(b, "Prompt", &of.prompt)
	if !of.thought.empty() {
		b.WriteString("\n" + details("Thought", block("text", of.thought.String())))
	}
	t.tools(b, of)
	t.asks(b, of)
	said(b, "Answer", &of.answer)
	if of.failure.is {
		fmt.Fprintf(b, "\n**Error %d**: %s\n", of.failure.code, code(of.failure.text))
	}
	t.wrong(b, of)
}

func spent(u *usage.Totals) string {
	var list []string
	for _, f := range []struct {
		n    int64
		what string
	}{{u.Input, "tokens in"}, {u.Output, "tokens out"}, {u.Thought, "of thought"}, {u.Cached, "cached"}, {u.Used, "of context used"}} {
		if f.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	return strings.Join(list, ", ")
}

func said(b *strings.Builder, title string, t *text) {
	if !t.empty() {
		fmt.Fprintf(b, "\n**%s**\n\n%s", title, block("text", t.String()))
	}
}

func (t *Transcript) tools(b *strings.Builder, of *turn) {
	if len(of.Tools) == 0 {
		return
	}
	b.WriteString("\n**Tools**\n\n| Tool | Kind | Status | Time |\n|---|---|---|---|\n")
	for _, x := range of.Tools {
		took := since(x.Start, x.End)
		if took == "" {
			took = "open at the end"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", secretless(show.Begin(x.Title, 200)), secretless(x.Kind), secretless(x.Status), took)
	}
	for i, x := range of.tools {
		if i >= len(of.Tools) || of.Tools[i].Status != "failed" || x.input.empty() && x.output.empty() {
			continue
		}
		var body string
		if !x.input.empty() {
			body += "Input\n\n" + block("json", x.input.String())
		}
		if !x.output.empty() {
			body += "\nOutput\n\n" + block("json", x.output.String())
		}
		b.WriteString("\n" + details("Failed: "+html(show.Begin(string(record.RedactText([]byte(of.Tools[i].Title))), 200)), body))
	}
}

func (t *Transcript) asks(b *strings.Builder, of *turn) {
	if len(of.asks) == 0 {
		return
	}
	b.WriteString("\n**Other requests**\n\n")
	slices.SortStableFunc(of.asks, func(a, b *ask) int { return cmp.Compare(a.seq, b.seq) })
	for _, a := range of.asks {
		line := a.from.String() + " asked " + secretless(a.method)
		if a.gist != "" {
			line += " " + code(a.gist)
		}
		switch {
		case a.failure.is:
			line += fmt.Sprintf(": **error %d** %s after %s", a.failure.code, code(a.failure.text), since(a.start, a.end))
		case a.end == 0:
			line += ": no answer"
		case a.answer != "":
			line += ": " + secretless(a.answer) + " after " + since(a.start, a.end)
		default:
			line += ": answered after " + since(a.start, a.end)
		}
		b.WriteString("- " + line + "\n")
	}
}

func (t *Transcript) wrong(b *strings.Builder, of *turn) {
	if len(of.wrong) == 0 {
		return
	}
	var body strings.Builder
	for _, w := range of.wrong {
		fmt.Fprintf(&body, "%d: %s\n\n%s\n", w.seq, code(w.what), block("json", both(w.question, w.line)))
	}
	if of.more > 0 {
		fmt.Fprintf(&body, "and %d more\n", of.more)
	}
	b.WriteString("\n" + details("Frames of what went wrong", strings.TrimSuffix(body.String(), "\n")))
}

// both is a request and its answer, or the answer alone.
func both(question, answer []byte) string {
	if question == nil {
		return string(answer)
	}
	return string(question) + "\n" + string(answer)
}
