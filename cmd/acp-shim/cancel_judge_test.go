//go:build unix

package main

import (
	"strings"
	"time"
)

// judge checks what always comes out of a cancel. next are the two prompts that
// follow it.
func (r *cancelRow) judge(history, config int) {
	r.t.Helper()
	lines := r.since(0, -1)
	answers := map[string]int{}
	for i, l := range lines {
		id := l.Get("id").Raw
		if l.Get("method").Exists() {
			continue
		}
		if id == "" || id == "null" {
			r.t.Errorf("an answer to nothing reached the client: %s", l.Raw)
		}
		if _, twice := answers[id]; twice {
			r.t.Errorf("%s was answered twice", id)
		}
		answers[id] = i
	}
	for id, method := range r.requests {
		at, ok := answers[jsonNumber(id)]
		switch {
		case !ok:
			r.t.Errorf("%d, a %s, was never answered", id, method)
		case lines[at].Get("error").Exists() && (!r.tolerated[id] || lines[at].Get("error.code").Int() == -32000):
			r.t.Errorf("%d, a %s, was answered %s", id, method, lines[at].Raw)
		}
	}
	for _, id := range r.asks {
		if at, ok := answers[jsonNumber(id)]; ok && lines[at].Get("result").Raw != "{}" {
			r.t.Errorf("the cancel %d was answered %s", id, lines[at].Raw)
		}
	}
	for _, id := range r.victims {
		if at, ok := answers[jsonNumber(id)]; ok {
			r.victimJudged(id, at, lines)
		}
	}
	r.nextJudged(lines[answers[jsonNumber(history)]], lines[answers[jsonNumber(config)]])
	r.textJudged(lines, answers[jsonNumber(config)])
}

func (r *cancelRow) victimJudged(id, at int, lines []line) {
	r.t.Helper()
	answer := lines[at]
	stop := answer.Get("result.stopReason").Str
	if stop != "cancelled" && !(stop == "end_turn" && (r.outcome.own || r.ownEnd)) {
		r.t.Errorf("%d was answered %s", id, answer.Raw)
	}
	grace := r.grace
	if grace == 0 {
		grace = time.Second
	}
	if took := answer.at.Sub(r.began[id]); r.began[id].IsZero() || took > slowly(grace+time.Second) {
		r.t.Errorf("%d was answered after %v", id, took)
	}
	if stop != "cancelled" || !r.ran[id] {
		return
	}
	open := map[string]bool{}
	for _, l := range lines[:at] {
		u := l.Get("params.update")
		if tool := u.Get("toolCallId").Str; tool != "" && l.Get("params.sessionId").Str == r.session {
			open[tool] = u.Get("status").Str != "completed" && u.Get("status").Str != "failed"
		}
	}
	for tool, still := range open {
		if still {
			r.t.Errorf("the tool call %s was left open by %d", tool, id)
		}
	}
}

// textJudged: after the last cancelled turn is over, what is said is what the next
// ones say: nothing of that turn, and no history. In no turn the text of the
// cancel leaks.
func (r *cancelRow) textJudged(lines []line, until int) {
	r.t.Helper()
	over := r.from
	for i, l := range lines {
		for id, method := range r.requests {
			if method == "session/load" && isAnswer(id)(l) {
				over = max(over, i) // what came before that, the client has asked for
			}
		}
		for _, id := range r.victims {
			if isAnswer(id)(l) {
				over = max(over, i)
			}
		}
		if strings.Contains(l.Raw, "context cancel") {
			r.t.Errorf("the text of the cancel leaked: %s", l.Raw)
		}
	}
	for _, l := range lines[over:until] {
		if l.Get("params.sessionId").Str != r.session || isRequest(l.Get("method").Str)(l) && strings.HasPrefix(l.Get("method").Str, "terminal/") {
			continue
		}
		switch kind := l.Get("params.update.sessionUpdate").Str; kind {
		case "agent_message_chunk", "available_commands_update", "config_option_update", "usage_update":
		default:
			r.t.Errorf("this came after the turn: %s", l.Raw)
		}
	}
	said := spoken(lines[over:until])
	if !strings.HasPrefix(said, "turns=") || strings.Count(said, "turns=") != 1 || strings.Count(said, "model=") != 1 {
		r.t.Errorf("after the cancelled turn was said %q", said)
	}
}

// nextJudged: the next turns run, with the settings and the history.
func (r *cancelRow) nextJudged(history, config line) {
	r.t.Helper()
	for _, l := range []line{history, config} {
		if l.Get("result.stopReason").Str != "end_turn" {
			r.t.Errorf("the next prompt was answered %s", l.Raw)
		}
	}
	said := spoken(r.since(r.from, -1))
	if r.told && !strings.Contains(said, "last=before it") && !strings.Contains(said, "turns=2") && !strings.Contains(said, "turns=3") {
		r.t.Errorf("the next turn has another history: %q", said)
	}
	want := "model=gemini-3.8-flash-high mode=default"
	if r.set {
		want = "model=gemini-3.8-flash-low mode=auto_edit"
	}
	if !strings.HasSuffix(said, want) {
		r.t.Errorf("the next turn has %q, want %s", said, want)
	}
}
