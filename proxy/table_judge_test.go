package proxy_test

import (
	"fmt"
	"strings"
	"time"

	"acp-shim/cancelshim"
)

// judge says what is wrong with a row that has been played. It knows what
// passed, and nothing of how the shim does it.
func (r *row) judge() {
	r.answersJudged()
	for _, id := range r.victims {
		r.victimJudged(id)
	}
	for _, id := range r.asks {
		r.askJudged(id)
	}
	r.nextJudged()
	r.replayJudged()
	r.processesJudged()
	r.closingJudged()
	if requests, _, own := r.w.Books(); requests+own > 0 {
		r.fail("%d requests of the client and %d of the shim are on the books", requests, own)
	}
}

// answersJudged: every request has its one answer, and no error that the row
// does not expect.
func (r *row) answersJudged() {
	for id, method := range r.open {
		r.fail("%s, a %s, was never answered", id, method)
	}
	for _, e := range r.log {
		if e.to != "client" {
			continue
		}
		id := e.frame.Get("id").Raw
		switch {
		case e.frame.Get("error.code").Int() == -32000:
			r.fail("the client was sent a -32000")
		case id == "null" || e.frame.Get("error").Exists() && id == "":
			r.fail("the answer to a notification reached the client")
		case e.frame.Get("error").Exists() && !r.tolerated[id]:
			r.fail("%s, a %s, was answered with an error", id, r.sent[id])
		}
	}
	r.namesJudged()
	prompted := map[string]int{}
	for _, e := range r.log {
		if strings.HasPrefix(e.to, "agent#") && e.frame.Get("method").Str == "session/prompt" {
			id := e.frame.Get("id").Raw
			if prompted[id]++; prompted[id] > 1 {
				r.fail("the prompt %s was sent twice", id)
			}
		}
	}
}

// namesJudged: the client hears of no session by another id than its own for it,
// also of one that was made anew.
func (r *row) namesJudged() {
	knows := map[string]bool{}
	for _, e := range r.log {
		switch session := e.frame.Get("params.sessionId").Str; {
		case e.from == "client":
			knows[session] = true
		case e.to != "client":
		case r.sent[e.frame.Get("id").Raw] == "session/new":
			knows[e.frame.Get("result.sessionId").Str] = true
		case session != "" && !knows[session]:
			r.fail("the client was told of the session %s, which it does not know", session)
		}
	}
}

// patience is how long a cancelled prompt may be without an answer where the
// agent gives none: the grace, and the second of the ladder.
func (r *row) patience() time.Duration {
	switch r.mode {
	case "auto":
		return cancelshim.DefaultGrace + time.Second
	case "native":
		return commandLasts
	}
	return time.Second
}

func (r *row) victimJudged(id string) {
	at, e := r.answer(id)
	if at < 0 {
		return // said already
	}
	began, ok := r.began[id]
	if !ok {
		r.fail("%s was never cancelled", id)
	}
	if took := e.at - began; took > r.patience() {
		r.fail("%s was answered %v after its cancel", id, took)
	}
	if said, own := r.agentsAnswer(id); own && said.at >= began && e.at > said.at {
		r.fail("%s was answered %v after the agent had answered it", id, e.at-said.at)
	}
	switch stop := e.frame.Get("result.stopReason").Str; {
	case stop == "cancelled":
		r.toolsJudged(id, at)
	case stop == "end_turn" && (r.outcome.own || r.ownEnd):
	default:
		r.fail("%s was answered %q", id, stop)
	}
	for _, late := range r.log[at+1:] {
		if late.to == "client" && late.frame.Get("params.turn").Str == id {
			r.fail("a frame of the turn of %s came after its answer: %s", id, late)
		}
	}
	for _, x := range r.log[:at] {
		if x.to == "client" && strings.Contains(x.frame.Get("params.update.content.text").Str, "context cancel") {
			r.fail("the text of the cancel leaked")
		}
	}
}

// agentsAnswer is the answer of a process that had not been told to end.
func (r *row) agentsAnswer(id string) (entry, bool) {
	condemned := map[string]bool{}
	for _, e := range r.log {
		switch {
		case strings.HasPrefix(e.text, "(end of input") || strings.HasPrefix(e.text, "(SIG"):
			condemned[e.to] = true
		case strings.HasPrefix(e.from, "agent#") && !condemned[e.from] && e.frame.Get("id").Raw == id && !e.frame.Get("method").Exists():
			return e, true
		}
	}
	return entry{}, false
}

// toolsJudged: no tool call is left open, and none is ended twice.
func (r *row) toolsJudged(prompt string, until int) {
	open := map[string]bool{}
	for i, e := range r.log {
		u := e.frame.Get("params.update")
		id := u.Get("toolCallId").Str
		if e.to != "client" || !strings.HasSuffix(id, "-"+prompt) {
			continue
		}
		switch final := u.Get("status").Str == "completed" || u.Get("status").Str == "failed"; {
		case i > until:
			r.fail("the tool call %s was told of after its turn", id)
		case final && !open[id]:
			r.fail("the tool call %s was ended twice", id)
		case final:
			delete(open, id)
		default:
			open[id] = true
		}
	}
	for id := range open {
		r.fail("the tool call %s was left open", id)
	}
}

// askJudged: a cancel with an id is answered {}, with the turn at the latest and
// within five seconds.
func (r *row) askJudged(id string) {
	at, e := r.answer(id)
	if at < 0 {
		return
	}
	if e.frame.Get("result").Raw != "{}" {
		r.fail("the cancel %s was answered %s", id, e.text)
	}
	var sent, over time.Duration
	for _, x := range r.log {
		if x.from == "client" && x.frame.Get("id").Raw == id && x.frame.Get("method").Exists() {
			sent, over = x.at, x.at
		}
	}
	for _, v := range r.victims {
		if _, a := r.answer(v); r.began[v] <= sent && a.at > over {
			over = a.at
		}
	}
	if e.at > min(over, sent+5*time.Second) {
		r.fail("the cancel %s was answered %v after it came, its turn's prompt %v", id, e.at-sent, over-sent)
	}
}

// nextJudged: the next turn runs, with the settings and the history.
func (r *row) nextJudged() {
	_, e := r.answer(r.next)
	if e.frame.Get("result.stopReason").Str != "end_turn" {
		r.fail("the next prompt was answered %s", e.text)
	}
	said, turns := "", 0
	for _, e := range r.log {
		if e.to == "client" && e.frame.Get("params.turn").Str == r.next {
			said += e.frame.Get("params.update.content.text").Str
		}
	}
	var model, mode string
	if _, err := fmt.Sscanf(said, "model=%s mode=%s turns=%d", &model, &mode, &turns); err != nil {
		r.fail("the next turn said %q", said)
	}
	if model != r.model || mode != r.kind || r.turns && turns == 0 {
		r.fail("the next turn has %q; want model=%s mode=%s, and a history: %v", said, r.model, r.kind, r.turns)
	}
}

// replayJudged: history reaches only a client that has asked for it.
func (r *row) replayJudged() {
	asked := map[string]bool{}
	for _, e := range r.log {
		id := e.frame.Get("id").Raw
		switch {
		case e.from == "client" && e.frame.Get("method").Str == "session/load":
			asked[id] = true
		case e.to == "client" && asked[id] && !e.frame.Get("method").Exists():
			delete(asked, id)
		case e.to == "client" && e.frame.Get("params.turn").Str == "history" && len(asked) == 0:
			r.fail("a replay reached the client: %s", e)
		}
	}
}

// processesJudged: a process that honours a cancel is not ended for it, a
// terminal of one that is gone is put away, and a permission is never left.
func (r *row) processesJudged() {
	honours := r.outcome.ends && r.outcome.name != "settles-late"
	if (r.mode == "auto" && honours || r.mode == "native") && !r.replaced && r.condemned() {
		r.fail("a process that honours a cancel was ended")
	}
	gone, terminals := map[string]bool{}, map[string]int{}
	for _, e := range r.log {
		switch method := e.frame.Get("method").Str; {
		case strings.HasPrefix(e.from, "agent#") && strings.HasPrefix(e.text, "("):
			gone[e.from] = true
		case e.to == "client" && (method == "terminal/kill" || method == "terminal/release"):
			terminals[method]++
		}
	}
	created := r.saw("terminal/create")()
	if created && len(gone) > 0 && (terminals["terminal/kill"] != 1 || terminals["terminal/release"] != 1) {
		r.fail("the terminal of a process that is gone was told of %v", terminals)
	}
	for _, a := range r.actors {
		if !a.ended && len(a.waits) > 0 {
			r.fail("%s waits for %d answers for good", name(a.gen), len(a.waits))
		}
	}
}

// closingJudged: a session that an agent was told to close or delete, or that the
// client was told is closed, is not opened again by the shim.
func (r *row) closingJudged() {
	closed, closes := map[string]bool{}, map[string]string{}
	for _, e := range r.log {
		method, session, id := e.frame.Get("method").Str, e.frame.Get("params.sessionId").Str, e.frame.Get("id")
		ends := method == "session/close" || method == "session/delete"
		switch {
		case e.from == "client" && ends:
			closes[id.Raw] = session
		case e.from == "client" && method != "session/cancel":
			delete(closed, session)
		case strings.HasPrefix(e.to, "agent#") && ends:
			closed[session] = true
		case e.to == "client" && method == "" && closes[id.Raw] != "":
			closed[closes[id.Raw]] = true
		case strings.HasPrefix(e.to, "agent#") && strings.HasPrefix(id.Str, "acp-shim/") && closed[session]:
			r.fail("the shim goes on with a session that the client has closed: %s", e)
		}
	}
}
