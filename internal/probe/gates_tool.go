package probe

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func toolGates() []*gate {
	return []*gate{
		{id: "C", title: "tool calls: content", session: true, live: true,
			criterion: "rawInput, output and locations are enough to show a tool call without running it again; an edit has its diff", source: seed, run: toolContent},
		{id: "C.states", title: "tool calls: states and ids", session: true, live: true,
			criterion: "each tool call ends completed or failed, and under the id it began with", source: acp + "tool-calls", run: toolStates},
		{id: "stream", title: "streamed text", session: true, live: true,
			criterion: "a message comes in pieces that add up to it, all of them before the prompt's answer", source: acp + "prompt-turn", run: streamed},
	}
}

func toolContent(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	u := t.prompt(p, id, askCreate("PROBE.txt", "made by a probe"))
	u.finish()
	calls := u.tools()
	if len(calls) == 0 {
		t.prove(p, u.call.Index, u.answer.Index)
		t.fallback("no tool call was shown; keep the means to show it otherwise")
	}
	var diff, raw, where, kinds bool
	kinds = true
	for _, c := range calls {
		diff = diff || c.diff
		raw = raw || c.rawInput != "" && c.rawInput != "{}" && c.rawInput != "null"
		where = where || c.locations
		kinds = kinds && c.kind != ""
		t.prove(p, c.first, c.final)
	}
	has := func(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }
	t.fact("diff", "%s", has(diff))
	t.fact("rawInput", "%s", has(raw))
	t.fact("locations", "%s", has(where))
	t.fact("kinds", "%s", strings.Join(unique(calls, func(c *tool) string { return c.kind }), ", "))
	t.fact("rawOutput", "%s", has(slices.ContainsFunc(calls, func(c *tool) bool { return c.rawOut != "" })))
	t.fact("content", "%s", strings.Join(unique(calls, func(c *tool) string { return strings.Join(c.content, "+") }), ", "))
	text := fmt.Sprintf("%d calls; diff %s, rawInput %s, locations %s, kind %s", len(calls), has(diff), has(raw), has(where), has(kinds))
	completed := slices.ContainsFunc(calls, func(c *tool) bool { return c.diff && c.status == "completed" })
	if b, err := os.ReadFile(t.path("PROBE.txt")); err != nil && completed {
		t.fail("%s; the edit is reported as completed, and the file was not made", text)
	} else if err != nil {
		text += "; the file was not made"
	} else if !strings.Contains(string(b), "made by a probe") {
		text += "; the file has something else in it"
	}
	if !diff || !raw || !where || !kinds {
		t.fallback("%s", text)
	}
	t.pass("%s", text)
}

// unique are the different words that calls have, but for none.
func unique(calls []*tool, of func(*tool) string) []string {
	var list []string
	for _, c := range calls {
		if v := clip(of(c), 60); v != "" && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// idForm is what an id looks like.
func idForm(id, session string) string {
	switch {
	case id == "":
		return "empty"
	case strings.HasPrefix(id, session+":"):
		return "<sessionId>:N"
	case regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id):
		return "32 hex digits"
	case regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id):
		return "UUID"
	}
	form := regexp.MustCompile(`[0-9a-f]{8,}`).ReplaceAllString(id, "<hex>")
	return regexp.MustCompile(`[0-9]+`).ReplaceAllString(clip(form, 60), "N")
}

func toolStates(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	// An edit and a command, since ids and states differ between tools.
	edit := t.prompt(p, id, askCreate("STATES.txt", "made by a probe"))
	edit.finish()
	shell := t.prompt(p, id, askShell("echo probe-states"))
	shell.finish()
	calls := append(edit.tools(), shell.tools()...)
	if len(calls) == 0 {
		t.prove(p, edit.call.Index, edit.answer.Index)
		t.fallback("no tool call was shown")
	}
	var open, superseded, stray int
	for _, c := range calls {
		if !c.begun {
			stray++
			t.prove(p, c.first)
		}
		if c.final < 0 {
			open++
			t.prove(p, c.first, c.last)
		}
		// What was approved and then reported as never run, while another call did
		// the work (seed, run 6).
		if c.status == "failed" && strings.Contains(c.rawOut, "never executed") {
			superseded++
			t.prove(p, c.final)
		}
	}
	t.prove(p, calls[0].first, calls[0].final)
	forms := unique(calls, func(c *tool) string { return idForm(c.id, id) })
	t.fact("ids", "%s", strings.Join(forms, ", "))
	t.fact("states", "%s", strings.Join(unique(calls, func(c *tool) string { return strings.Join(c.statuses, " → ") }), ", "))
	t.fact("superseded", "%d", superseded)
	text := fmt.Sprintf("%d calls, ids like %s", len(calls), strings.Join(forms, ", "))
	switch {
	case open > 0:
		t.fail("%s; %d never end", text, open)
	case stray > 0:
		t.fallback("%s; %d were updated without having begun: take an update for a beginning", text, stray)
	case superseded > 0:
		t.fallback("%s; %d approved call was reported as never executed while another id did the work: follow effects, not ids", text, superseded)
	}
	t.pass("%s", text)
}

func streamed(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	u := t.prompt(p, id, askFew)
	said := u.finish()
	var n, first int
	var repeats bool
	text := ""
	for _, x := range u.updates() {
		if x.kind != "agent_message_chunk" {
			continue
		}
		if n++; n == 1 {
			first = x.index
			t.took("first chunk", x.at.Sub(u.answer.Sent))
		}
		piece := x.body.Get("content.text").Str
		if len(text) > 8 && strings.HasPrefix(piece, text) {
			repeats = true
			t.prove(p, x.index)
		}
		text += piece
	}
	t.number("chunks", float64(n), "count")
	t.prove(p, first, u.answer.Index)
	// Behind the answer comes whatever the close does; a chunk there is late.
	t.ask(p, "session/close", of(id))
	for _, x := range p.updates(id, u.answer.Index, -1) {
		if x.kind == "agent_message_chunk" {
			t.prove(p, x.index)
			t.fail("a chunk came behind the prompt's answer")
		}
	}
	t.fact("repeats", "%t", repeats)
	whole := counts(said, 60)
	switch {
	case n == 0:
		t.fail("the turn ended without a word")
	case repeats:
		t.fallback("chunks repeat all text so far; cut them to what is new")
	case !whole:
		t.fallback("%d chunks, all before the answer; the text is not the one that was asked for: %q", n, clip(tidy(said), 80))
	case n == 1:
		t.pass("in one piece, before the answer")
	}
	t.pass("%s, all before the answer", some(n, "chunk"))
}

// counts reports whether a text has the numbers from 1 to n, in order and each once.
func counts(text string, n int) bool {
	next := 1
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		if word != strconv.Itoa(next) {
			return false
		}
		next++
	}
	return next == n+1
}

// some is a count for a figure that differs from run to run: one, several, many.
func some(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case n < 10:
		return "several " + what + "s"
	}
	return "many " + what + "s"
}
