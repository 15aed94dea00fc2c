package probe

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

func sessionGates() []*gate {
	const setup = acp + "session-setup"
	return []*gate{
		{id: "load", title: "load: complete and in order", session: true, live: true,
			criterion: "session/load sends the whole conversation, in order, before its answer", source: setup, run: loads},
		{id: "load.closed", title: "load after close, same process", session: true, live: true,
			criterion: "a session that was closed can be loaded again", source: setup, run: loadClosed},
		{id: "load.elsewhere", title: "load after close, another process", session: true, live: true,
			criterion: "a session that was closed can be loaded in another process", source: setup, run: loadElsewhere},
		{id: "resume", title: "session/resume", session: true, live: true,
			criterion: "a session goes on, with its history and without its being sent again", source: setup, run: resumes},
		{id: "list", title: "session/list", session: true,
			criterion: "the answer has sessions, each with sessionId and cwd", source: acp + "session-list", run: lists},
		{id: "close", title: "session/close", session: true,
			criterion: "it is answered, and the session is not known any more", source: setup, run: closes},
		{id: "fork", title: "session/fork", session: true,
			criterion: "the answer has the new session's id", source: "agentclientprotocol.com/rfds/session-fork", run: forks},
		{id: "delete", title: "session/delete", session: true,
			criterion: "a session that was deleted is not listed any more", source: acp + "session-delete", run: deletes},
	}
}

// said is a message of a history: who said it, and what.
type said struct{ who, text string }

// replayed are the messages that a load sent again.
func replayed(list []update) (all []said) {
	for _, x := range list {
		who := map[string]string{"user_message_chunk": "user", "agent_message_chunk": "agent"}[x.kind]
		if who == "" {
			continue
		}
		text := x.body.Get("content.text").Str
		if n := len(all); n > 0 && all[n-1].who == who {
			all[n-1].text += text
		} else {
			all = append(all, said{who, text})
		}
	}
	return all
}

// needs ends a trial where the agent does not offer a method.
func (t *trial) needs(p *peer, path, method string) {
	if !p.can(path) {
		t.skip(WhyNotOffered, "the agent does not offer %s", method)
	}
}

func loads(t *trial) {
	p := t.fresh(offers{})
	t.needs(p, "loadSession", "session/load")
	id, _ := t.session(p)
	turns := []string{askRemember, askFew}
	var want []said
	for _, ask := range turns {
		want = append(want, said{"user", ask}, said{"agent", t.tell(p, id, ask)})
	}
	p.end(softEnd)
	next := t.fresh(offers{})
	call := next.conn.Request("session/load", t.again(id))
	a := t.await(next, call, t.opt.Timeout)
	t.res.Proofs = nil
	t.prove(next, call.Index)
	if a.Error.Exists() {
		t.prove(next, a.Index)
		t.fact("load", "refused")
		t.fail("refused: %s", describe(a.Error))
	}
	t.took("load", a.Took())
	list := next.updates(id, call.Index, a.Index)
	got := replayed(list)
	for _, x := range list {
		t.prove(next, x.index)
	}
	t.prove(next, a.Index)
	if len(list) > 0 {
		t.number("updates", float64(len(list)), "count")
	}
	t.fact("load", "works")
	// What comes late would be taken for the next turn's.
	u := t.prompt(next, id, askRecall)
	known := holds(u.finish(), remembered)
	for _, x := range next.updates(id, a.Index, u.call.Index) {
		if x.kind == "user_message_chunk" || x.kind == "agent_message_chunk" {
			t.fact("history", "late")
			t.prove(next, x.index)
			t.fail("part of the history came behind the answer to session/load")
		}
	}
	differs, ok := compareHistory(want, got)
	t.fact("history", "%s", map[bool]string{true: "complete", false: "differs"}[ok])
	t.fact("the next turn knows it", "%t", known)
	switch {
	case !ok && !known:
		t.fail("it is answered, and nothing is loaded: of the history %s, and the next turn does not know what was said", differs)
	case !ok:
		t.fallback("it loads, and the history is not what was said: %s", differs)
	case !known:
		t.fail("the history is sent, and the next turn does not know it")
	}
	t.pass("%d turns in order and complete, before the answer", len(turns))
}

// compareHistory says where the history that came differs from what was said. Of
// white space at the ends nothing depends.
func compareHistory(want, got []said) (string, bool) {
	for i, w := range want {
		if i >= len(got) {
			return fmt.Sprintf("%d of %d messages came", len(got), len(want)), false
		}
		if got[i].who != w.who || strings.TrimSpace(got[i].text) != strings.TrimSpace(w.text) {
			return fmt.Sprintf("message %d is the %s's %q instead of the %s's %q", i+1, got[i].who, clip(tidy(got[i].text), 60), w.who, clip(tidy(w.text), 60)), false
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("%d messages came instead of %d", len(got), len(want)), false
	}
	return "", true
}

// closedSession is a session with a turn that was closed again.
func (t *trial) closedSession(p *peer) string {
	t.needs(p, "loadSession", "session/load")
	id, _ := t.session(p)
	t.tell(p, id, askRemember)
	call := p.conn.Request("session/close", of(id))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	if missing(a) {
		t.skip(WhyNotOffered, "session/close is not known")
	}
	if a.Error.Exists() {
		t.fail("session/close was refused: %s", describe(a.Error))
	}
	return id
}

// loadAndRecall loads a session and asks for what it has to remember.
func (t *trial) loadAndRecall(p *peer, id string) {
	call := p.conn.Request("session/load", t.again(id))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	if a.Error.Exists() {
		t.fail("session/load was refused: %s", describe(a.Error))
	}
	t.recall(p, id)
	t.pass("loaded, with its history")
}

func loadClosed(t *trial) {
	p := t.borrow()
	id := t.closedSession(p)
	p.r.hold(p, id)
	t.loadAndRecall(p, id)
}

func loadElsewhere(t *trial) {
	p := t.fresh(offers{})
	id := t.closedSession(p)
	p.end(softEnd)
	t.loadAndRecall(t.fresh(offers{}), id)
}

func resumes(t *trial) {
	p := t.fresh(offers{})
	t.needs(p, "sessionCapabilities.resume", "session/resume")
	id, _ := t.session(p)
	t.tell(p, id, askRemember)
	p.end(softEnd)
	next := t.fresh(offers{})
	call := next.conn.Request("session/resume", t.again(id))
	a := t.await(next, call, t.opt.Timeout)
	t.res.Proofs = nil
	t.prove(next, call.Index, a.Index)
	if a.Error.Exists() {
		t.fail("refused: %s", describe(a.Error))
	}
	t.took("resume", a.Took())
	again := replayed(next.updates(id, call.Index, a.Index))
	t.recall(next, id)
	if len(again) > 0 {
		t.fact("history", "sent again")
		t.fallback("it resumes, and sends the history again as a load does")
	}
	t.pass("it goes on with its history, which is not sent again")
}

// listed are the sessions of a session/list, of all its pages.
func (t *trial) listed(p *peer) map[string]gjson.Result {
	sessions := map[string]gjson.Result{}
	cursors := map[string]bool{}
	params := "{}"
	for page := range 50 {
		call := p.conn.Request("session/list", params)
		a := t.await(p, call, t.opt.Timeout)
		if page == 0 {
			t.prove(p, call.Index, a.Index)
			if missing(a) {
				t.skip(WhyNotOffered, "session/list is not known")
			}
		}
		if a.Error.Exists() {
			t.fail("session/list was refused: %s", describe(a.Error))
		}
		if !a.Result.Get("sessions").IsArray() {
			t.fail("the answer has no list of sessions")
		}
		for _, s := range a.Result.Get("sessions").Array() {
			sessions[s.Get("sessionId").Str] = s
		}
		next := a.Result.Get("nextCursor")
		if next.Type != gjson.String || next.Str == "" {
			break
		}
		if cursors[next.Str] {
			t.fail("session/list has no end: a cursor of it leads back")
		}
		cursors[next.Str] = true
		params = `{"cursor":` + next.Raw + `}`
	}
	return sessions
}

func lists(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	sessions := t.listed(p)
	_, empty := sessions[id]
	t.fact("an empty session is listed", "%t", empty)
	for sid, s := range sessions {
		if sid == "" || s.Get("cwd").Str == "" {
			t.fail("a session is listed without its sessionId or cwd")
		}
	}
	offered := ""
	if !p.can("sessionCapabilities.list") {
		offered = "; it is not among its capabilities"
		t.fact("offered", "no")
	}
	if !t.opt.Live {
		t.pass("sessions are listed%s", offered)
	}
	t.tell(p, id, askHello)
	sessions = t.listed(p)
	s, ok := sessions[id]
	if !ok {
		t.fail("a session with a turn is not listed")
	}
	t.fact("members", "%s", memberNames(s))
	t.pass("a session with a turn is listed%s", offered)
}

func memberNames(o gjson.Result) string {
	var names []string
	o.ForEach(func(k, _ gjson.Result) bool {
		names = append(names, clip(k.Str, 40))
		return len(names) < 20
	})
	return strings.Join(names, ", ")
}

// asks sends session/close or session/delete, which an agent need not offer, and is
// the figure of an agent that has done it.
func (t *trial) asks(p *peer, what, id string) string {
	call := p.conn.Request("session/"+what, of(id))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	offered := p.can("sessionCapabilities." + what)
	switch {
	case missing(a) && !offered:
		t.skip(WhyNotOffered, "the agent does not offer session/%s, nor know it", what)
	case a.Error.Exists():
		t.fail("refused: %s", describe(a.Error))
	}
	if offered {
		return "answered"
	}
	t.fact("offered", "no")
	return "answered, though it is not among its capabilities"
}

func closes(t *trial) {
	p := t.borrow()
	id, made := t.session(p)
	text := t.asks(p, "close", id)
	// A session that is gone cannot be set anything.
	c := choicesOf(made).mode
	if c.id == "" {
		t.pass("%s", text)
	}
	method, params := "session/set_mode", setMode(id, c.current)
	if c.option {
		method, params = "session/set_config_option", setOption(id, c.id, c.current)
	}
	call := p.conn.Request(method, params)
	after := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, after.Index)
	if !after.Error.Exists() {
		t.fact("after it", "still known")
		t.fallback("%s; the session can still be used", text)
	}
	t.fact("after it", "%d", after.Error.Get("code").Int())
	t.pass("%s; after it the session is not known: %s", text, describe(after.Error))
}

func forks(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	offered := p.can("sessionCapabilities.fork")
	call := p.conn.Request("session/fork", t.again(id))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	switch {
	case !offered && missing(a):
		t.skip(WhyNotOffered, "the agent does not offer session/fork, nor know it")
	case a.Error.Exists():
		t.fail("refused: %s", describe(a.Error))
	}
	fork := a.Result.Get("sessionId").Str
	if fork == "" || fork == id {
		t.fact("fork", "no new id")
		t.fail("it is answered with %s, without a new session's id", clip(a.Result.Raw, 60))
	}
	p.r.hold(p, fork)
	t.fact("fork", "works")
	t.pass("a new session with an id of its own")
}

func deletes(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	if t.opt.Live {
		t.tell(p, id, askHello)
	}
	text := t.asks(p, "delete", id)
	sessions := t.listed(p)
	if _, there := sessions[id]; there {
		t.fact("after it", "still listed")
		t.fail("%s; the session is still listed", text)
	}
	t.fact("after it", "not listed")
	t.pass("%s; the session is not listed", text)
}
