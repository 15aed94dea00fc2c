package probe

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/client"
	"acp-shim/internal/wire"
)

func cancelGates() []*gate {
	return []*gate{
		{id: "D", title: "cancel in a stream", session: true, live: true,
			criterion: "stopReason cancelled within 2 s of session/cancel, a notification; the session is usable after", source: seed, run: cancelStream},
		{id: "D.tool", title: "cancel in a tool", session: true, live: true,
			criterion: "stopReason cancelled within 2 s also while a shell command runs; the session is usable after", source: seed, run: cancelTool},
		{id: "D.load", title: "kill and load", session: true, live: true,
			criterion: "a session whose process was killed in a turn is loaded in another one, with its history", source: seed, run: killLoad},
		{id: "D.id", title: "cancel with an id", session: true,
			criterion: "session/cancel is a notification; sent with an id it is answered all the same", source: rpc + " section 5", run: cancelWithID},
	}
}

// toolBegins is how long a tool that was allowed has to say that it runs.
const toolBegins = time.Second

// soon is how long a cancel may take by the seed's criterion.
const soon = 2 * time.Second

func cancelStream(t *trial) {
	cancelled(t, askNumbers, isUpdate("agent_message_chunk"), "text")
}

func cancelTool(t *trial) {
	cancelled(t, askShell(fmt.Sprintf("sleep %d", max(int(t.opt.Tool/time.Second), 1))), isWorking, "a running tool")
}

// cancelled begins a turn, cancels it once it is under way, and looks at what
// becomes of it, of the session, and, where it did not end, of the way round.
func cancelled(t *trial, ask string, underway func(*wire.Message) bool, what string) {
	p := t.fresh(offers{})
	id, _ := t.session(p)
	t.tell(p, id, askRemember)
	u := t.prompt(p, id, ask)
	begun, ok := u.until(func(m *wire.Message) bool { return underway(m) || isAsked(m) })
	if ok {
		var m wire.Message
		if m.Parse(begun.Bytes); isAsked(&m) {
			// It is allowed by then. Some agents say no more until the tool has ended.
			u.within(toolBegins, underway)
			select {
			case <-u.call.Done():
				ok = false
			default:
			}
		}
	}
	if !ok {
		t.prove(p, u.call.Index)
		t.fail("the turn was over, or said nothing, before there was %s to cancel", what)
	}
	at := len(p.conn.Lines(0))
	sent := time.Now()
	if err := p.conn.Notify("session/cancel", of(id)); err != nil {
		t.failed(err)
	}
	native, ended := t.outcome(u, at, sent)
	if native == "" {
		next, ok := t.tryRecall(p, id)
		switch stray := u.behind(next); {
		case stray >= 0:
			t.prove(p, stray)
			t.fact("cancel", "answered, and the turn goes on")
			native = "the cancel is answered, and the turn goes on behind that"
		case !ok:
			native = "cancelled in time, and the session is not usable after it"
		case !holds(next.said(), remembered):
			t.prove(p, next.answer.Index)
			t.fallback("cancelled after %s; the next turn ends well, and does not know what came before: it says %q",
				coarse(u.answer.At.Sub(sent)), clip(tidy(next.said()), 80))
		default:
			t.prove(p, next.answer.Index)
			t.pass("cancelled after %s, and the session goes on", coarse(u.answer.At.Sub(sent)))
		}
	} else if ended && p.running() {
		switch next, ok := t.tryRecall(p, id); {
		case !ok:
			native += "; the session is not usable after it"
		case !holds(next.said(), remembered):
			native += "; the next turn ends well, and does not know what came before"
		default:
			native += "; the session goes on"
		}
	}
	p.kill()
	back := t.fallbackOnce()
	for _, proof := range back.proofs {
		t.addProof(proof)
	}
	if t.ctx.Err() != nil {
		t.failed(t.ctx.Err())
	}
	if back.err != "" {
		t.fail("%s; and %s", native, back.err)
	}
	t.fallback("%s; kill and session/load works", native)
}

// outcome waits for what a cancel leads to. native is "" where it was honoured in
// time, else what happened instead; ended tells that the prompt was answered.
func (t *trial) outcome(u *turn, at int, sent time.Time) (native string, ended bool) {
	ctx, stop := t.within(t.opt.Cancel)
	defer stop()
	a, err := u.call.Wait(ctx)
	t.prove(u.p, u.call.Index, at)
	if err != nil {
		if t.ctx.Err() != nil {
			t.failed(t.ctx.Err())
		}
		t.fact("cancel", "no answer")
		select {
		case <-u.p.conn.Process.Done():
			t.fact("cancel", "the agent ended")
			return "the agent " + u.p.conn.Process.Exit().Words + " when it was cancelled", false
		default:
		}
		t.countChunks(u, at, -1)
		return fmt.Sprintf("the turn goes on %v after the cancel", t.opt.Cancel), false
	}
	u.answer = a
	t.prove(u.p, a.Index)
	took := a.At.Sub(sent)
	t.took("cancel", took)
	t.countChunks(u, at, a.Index)
	stopped := a.Result.Get("stopReason").Str
	switch {
	case a.Error.Exists():
		t.fact("cancel", "error %d", a.Error.Get("code").Int())
		return "the prompt was answered with " + describe(a.Error), true
	case stopped != "cancelled":
		t.fact("cancel", "%s", stopped)
		return fmt.Sprintf("the turn ended with %q after %s", clip(stopped, 40), coarse(took)), true
	case took > soon:
		t.fact("cancel", "late")
		return fmt.Sprintf("cancelled only after %s", coarse(took)), true
	}
	t.fact("cancel", "honoured")
	return "", true
}

// countChunks notes what was still said behind a cancel.
func (t *trial) countChunks(u *turn, from, to int) {
	n, leaked := 0, false
	for _, x := range u.p.updates(u.id, from, to) {
		if x.kind != "agent_message_chunk" {
			continue
		}
		n++
		text := x.body.Get("content.text").Str
		if strings.Contains(text, "context cancel") || strings.Contains(text, "The request was cancel") {
			leaked = true
			t.prove(u.p, x.index)
		}
	}
	t.number("chunks behind the cancel", float64(n), "count")
	t.fact("leaked text", "%t", leaked)
}

// behind is the index of a frame of the turn's that came when it was over, up to
// the end of the next one; -1 if there is none. Nothing but numbers is what the
// turn was to write, and the next one's answer has none.
func (u *turn) behind(next *turn) int {
	own := map[string]bool{}
	for _, c := range u.tools() {
		own[c.id] = true
	}
	to := -1
	if next.answer.Line != nil {
		to = next.answer.Index
	}
	for _, x := range u.p.updates(u.id, u.answer.Index, to) {
		text, id := strings.TrimSpace(x.body.Get("content.text").Str), x.body.Get("toolCallId").Str
		switch {
		case x.kind == "agent_message_chunk" && (x.index < next.call.Index || text != "" && strings.Trim(text, "0123456789\n ") == ""),
			x.kind == "tool_call_update" && own[id]:
			return x.index
		case x.kind == "tool_call":
			delete(own, id) // some agents give the same ids in each turn
		}
	}
	return -1
}

// recall asks for what a session has to remember.
func (t *trial) recall(p *peer, id string) {
	u := t.prompt(p, id, askRecall)
	said := u.finish()
	t.prove(p, u.answer.Index)
	if !holds(said, remembered) {
		t.fail("the next turn ends well, and does not know what came before: it says %q", clip(tidy(said), 80))
	}
}

// tryRecall is recall whose failure is no verdict yet.
func (t *trial) tryRecall(p *peer, id string) (u *turn, ok bool) {
	u = t.prompt(p, id, askRecall)
	ctx, stop := t.within(t.opt.Turn)
	defer stop()
	a, err := u.call.Wait(ctx)
	if err != nil || a.Error.Exists() || a.Result.Get("stopReason").Str != "end_turn" {
		p.spoiled.Store(true)
		return u, false
	}
	u.answer = a
	return u, true
}

// coarse is a time for a figure: what is beyond a person's notice is not told.
func coarse(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return "less than 0.1 s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// restored is what came of killing a process in a turn and loading its session.
type restored struct {
	err    string
	absent bool // the agent cannot load
	took   time.Duration
	proofs []Proof
}

// killAndLoad is done once, whichever gate needs it first.
func (r *run) killAndLoad() restored {
	g := &gate{id: "D.load"}
	res := &Result{}
	var back restored
	t := &trial{run: r, gate: g, res: res}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.close()
		t.cwd = r.dir
		p := t.fresh(offers{})
		if back.absent = !p.can("loadSession"); back.absent {
			t.fail("the agent offers no session/load")
		}
		id, _ := t.session(p)
		t.tell(p, id, askRemember)
		u := t.prompt(p, id, askNumbers)
		if _, ok := u.until(isUpdate("agent_message_chunk")); !ok {
			t.fail("the turn was over, or said nothing, before it could be killed")
		}
		killed := time.Now()
		p.kill()
		next := t.fresh(offers{})
		_, a := t.result(next, "session/load", t.again(id))
		back.took = time.Since(killed)
		t.prove(next, a.Index)
		said := t.tell(next, id, askRecall)
		if !holds(said, remembered) {
			t.fail("the session that was loaded does not know what came before: it says %q", clip(tidy(said), 80))
		}
		res.Verdict = Pass
	}()
	<-done
	if res.Verdict != Pass {
		back.err = res.Figure
	}
	back.proofs = res.Proofs
	return back
}

func killLoad(t *trial) {
	back := t.fallbackOnce()
	t.res.Proofs = back.proofs
	switch {
	case t.ctx.Err() != nil:
		t.failed(t.ctx.Err())
	case back.absent:
		t.skip(WhyNotOffered, "%s", back.err)
	case back.err != "":
		t.fail("%s", back.err)
	}
	t.took("kill to loaded", back.took)
	t.pass("loaded in another process, with its history")
}

func cancelWithID(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	call := p.conn.Request("session/cancel", of(id))
	ctx, stop := t.within(min(t.opt.Timeout, 10*time.Second))
	defer stop()
	a, err := call.Wait(ctx)
	t.prove(p, call.Index)
	if err != nil {
		p.spoiled.Store(true)
		t.fact("session/cancel", "no answer")
		t.fallback("it is not answered: send it as a notification only")
	}
	t.prove(p, a.Index)
	t.fact("session/cancel", "%s", answered(a))
	text := "answered with " + answered(a)
	if t.opt.Live {
		text += "; in a turn " + t.cancelTurnWithID()
	}
	t.pass("%s", text)
}

// cancelTurnWithID is how the seed cancelled a turn; it says what came of it.
func (t *trial) cancelTurnWithID() string {
	p := t.fresh(offers{})
	id, _ := t.session(p)
	u := t.prompt(p, id, askNumbers)
	if _, ok := u.until(isUpdate("agent_message_chunk")); !ok {
		return "nothing was said that could be cancelled"
	}
	call := p.conn.Request("session/cancel", of(id))
	ctx, stop := t.within(t.opt.Cancel)
	defer stop()
	a, err := call.Wait(ctx)
	t.prove(p, call.Index)
	how := "it has no answer"
	if err == nil {
		t.prove(p, a.Index)
		how = "with " + answered(a)
	}
	stopped := "the turn goes on"
	if end, err := u.call.Wait(ctx); err == nil {
		stopped = "the turn ends: " + answered(end)
		t.prove(p, end.Index)
	}
	t.fact("in a turn", "%s, %s", how, stopped)
	return how + ", and " + stopped
}

// answered is an answer in a word or two.
func answered(a client.Answer) string {
	if a.Error.Exists() {
		return describe(a.Error)
	}
	if a.Result.Type == gjson.Null {
		return "null"
	}
	return clip(a.Result.Raw, 60)
}
