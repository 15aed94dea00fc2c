package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

func permissionGates() []*gate {
	const page = acp + "tool-calls"
	return []*gate{
		{id: "permission", title: "permission request", session: true, live: true,
			criterion: "session/request_permission has a toolCall and options, each with an optionId, a name and one of the four kinds", source: page, run: asksPermission},
		{id: "permission.deny", title: "permission denied", session: true, live: true,
			criterion: "what is denied is not done, and the turn ends in order", source: page, run: denied},
		{id: "permission.cancel", title: "cancel while asked", session: true, live: true,
			criterion: "a turn that is cancelled while a permission is open ends with cancelled once the client answers that it is", source: page, run: cancelAsked},
		{id: "parallel", title: "two turns in one process", session: true, live: true,
			criterion: "a turn ends while another session's turn waits for a permission", source: acp + "session-setup", run: parallel},
	}
}

// asking begins a turn that needs a permission, and waits for the request. It is
// not answered.
func (t *trial) asking(p *peer, id, command string) (u *turn, ask gjson.Result, reqID string) {
	u, ask, reqID = t.mayAsk(p, id, command)
	if reqID == "" {
		t.fallback("the turn ended without a request for permission")
	}
	return u, ask, reqID
}

// mayAsk is asking where a turn may end without a request: reqID is empty then.
func (t *trial) mayAsk(p *peer, id, command string) (u *turn, ask gjson.Result, reqID string) {
	p.onAsk(func(method string, _ gjson.Result, _ string) (string, bool) {
		return "", method == "session/request_permission"
	})
	u = t.prompt(p, id, askShell(command))
	l, ok := u.until(isAsked)
	if !ok {
		t.prove(p, u.call.Index)
		u.finish()
		t.fact("asked", "no")
		return u, ask, ""
	}
	t.prove(p, l.Index)
	var m wire.Message
	m.Parse(l.Bytes)
	return u, gjson.ParseBytes(m.Text(m.Params)), string(m.Text(m.ID))
}

func (t *trial) respond(p *peer, id, body string) {
	p.onAsk(nil)
	if err := p.conn.Respond(id, body); err != nil {
		t.failed(err)
	}
}

func asksPermission(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	u, ask, req := t.asking(p, id, "echo probe-permission")
	t.respond(p, req, allowOnce(ask))
	u.finish()
	t.prove(p, u.answer.Index)
	var kinds, ids []string
	for _, o := range ask.Get("options").Array() {
		kinds = append(kinds, clip(o.Get("kind").Str, 40))
		ids = append(ids, clip(o.Get("optionId").Str, 40))
		if o.Get("optionId").Str == "" || o.Get("name").Str == "" {
			t.fail("an option lacks its optionId or name: %s", clip(o.Raw, 120))
		}
	}
	t.fact("asked", "yes")
	t.fact("kinds", "%s", strings.Join(kinds, ", "))
	t.fact("optionIds", "%s", strings.Join(ids, ", "))
	for _, k := range kinds {
		if !slices.Contains([]string{"allow_once", "allow_always", "reject_once", "reject_always"}, k) {
			t.fail("ACP has no kind %q", k)
		}
	}
	switch {
	case ask.Get("toolCall.toolCallId").Str == "":
		t.fail("the request has no toolCall")
	case len(kinds) == 0:
		t.fail("the request has no options")
	case kinds[0] == "allow_always":
		t.fallback("%s: the first option allows for good; choose by kind", strings.Join(kinds, ", "))
	}
	t.pass("%s", strings.Join(kinds, ", "))
}

// stopReasons are ACP's (agentclientprotocol.com/protocol/prompt-turn).
var stopReasons = []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}

func denied(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	u, ask, req := t.asking(p, id, "touch PROBE-DENIED")
	t.respond(p, req, choose(ask, "reject_once"))
	// A model may try again in another way; no to all of it.
	p.onAsk(func(method string, params gjson.Result, _ string) (string, bool) {
		if method == "session/request_permission" {
			return choose(params, "reject_once"), false
		}
		return "", false
	})
	a := u.wait()
	t.prove(p, a.Index)
	if a.Error.Exists() {
		t.fail("the turn ended with %s", describe(a.Error))
	}
	stop := a.Result.Get("stopReason").Str
	t.fact("ends with", "%s", stop)
	var states []string
	for _, c := range u.tools() {
		states = append(states, c.status)
	}
	t.fact("tool calls", "%s", strings.Join(states, ", "))
	if t.exists("PROBE-DENIED") {
		t.fail("what was denied was done all the same")
	}
	if !slices.Contains(stopReasons, stop) {
		t.fail("not done, and the turn ended with %q, which is no stopReason of ACP's", clip(stop, 40))
	}
	if slices.Contains(states, "completed") {
		t.fallback("it was not done, and a tool call says completed; the turn ended with %s", clip(stop, 40))
	}
	t.pass("not done; the turn ended with %s", clip(stop, 40))
}

func cancelAsked(t *trial) {
	p := t.fresh(offers{})
	id, _ := t.session(p)
	u, _, req := t.asking(p, id, "touch PROBE-CANCELLED")
	at := len(p.conn.Lines(0))
	sent := time.Now()
	if err := p.conn.Notify("session/cancel", of(id)); err != nil {
		t.failed(err)
	}
	t.respond(p, req, `"result":{"outcome":{"outcome":"cancelled"}}`)
	native, _ := t.outcome(u, at, sent)
	done := t.exists("PROBE-CANCELLED")
	switch {
	case done:
		t.fail("what nobody allowed was done")
	case native != "":
		t.fail("%s", native)
	}
	t.pass("cancelled after %s", coarse(u.answer.At.Sub(sent)))
}

func parallel(t *trial) {
	p := t.borrow()
	one, _ := t.session(p)
	two, _ := t.session(p)
	u, ask, req := t.mayAsk(p, one, "echo probe-parallel")
	if req == "" {
		p.onAsk(nil)
		t.sideBySide(p, one, two)
	}
	other := t.prompt(p, two, askSecond)
	ctx, stop := t.within(min(t.opt.Turn, 3*t.opt.Cancel))
	defer stop()
	a, err := other.call.Wait(ctx)
	if err != nil {
		t.prove(p, other.call.Index)
		if t.ctx.Err() != nil {
			t.failed(t.ctx.Err())
		}
		p.spoiled.Store(true)
		t.respond(p, req, allowOnce(ask))
		t.fail("the second session's turn does not end while the first one waits for a permission")
	}
	other.answer = a
	t.prove(p, other.call.Index, a.Index)
	early := u.call.Done()
	select {
	case <-early:
		t.fallback("the first turn ended before its permission was answered")
	default:
	}
	t.respond(p, req, allowOnce(ask))
	u.finish()
	t.prove(p, u.answer.Index)
	if a.Error.Exists() {
		t.fail("the second turn was answered with %s", describe(a.Error))
	}
	if said := other.said(); !holds(said, "SECOND ANSWER") {
		t.fallback("%s", fmt.Sprintf("both turns end, and the second one says %q", clip(tidy(said), 80)))
	}
	t.pass("the second turn ended while the first one waited; both ended in order")
}

// sideBySide is the rest of parallel where nothing waits for a permission: a turn
// that is busy does instead.
func (t *trial) sideBySide(p *peer, one, two string) {
	busy := t.prompt(p, one, askNumbers)
	busy.until(isUpdate("agent_message_chunk"))
	other := t.prompt(p, two, askSecond)
	said := other.finish()
	t.prove(p, busy.call.Index, other.call.Index, other.answer.Index)
	busy.finish()
	t.prove(p, busy.answer.Index)
	if !holds(said, "SECOND ANSWER") {
		t.fallback("no permission is asked for; two turns at once end, and the second one says %q", clip(tidy(said), 80))
	}
	t.fallback("no permission is asked for, so that none could wait; two turns at once end in order")
}
