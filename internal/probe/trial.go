package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"acp-shim/internal/client"
	"acp-shim/internal/wire"
)

// trial is one gate being put to the agent. As in package testing, what ends it
// ends its goroutine: no line behind pass, fallback, fail or skip is run.
type trial struct {
	*run
	gate *gate
	res  *Result
	cwd  string
	// own are processes of this trial only, lent are those of the pool.
	own, lent []*peer
	cleanups  []func()
}

const (
	maxFigure = 400
	maxFact   = 400
	maxProofs = 8
)

func (t *trial) end(v Verdict, format string, args ...any) {
	t.res.Verdict = v
	t.res.Figure = t.tape.words(fmt.Sprintf(format, args...), maxFigure)
	runtime.Goexit()
}

// tidy makes one line of a text of the agent's, without control characters.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return utf8.RuneError
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

func (t *trial) pass(format string, args ...any)     { t.end(Pass, format, args...) }
func (t *trial) fallback(format string, args ...any) { t.end(Fallback, format, args...) }
func (t *trial) fail(format string, args ...any)     { t.end(Fail, format, args...) }

func (t *trial) skip(why, format string, args ...any) {
	t.res.Why = why
	t.end(NotRun, format, args...)
}

// needLive ends a trial where the rest would spend quota.
func (t *trial) needLive() {
	if !t.opt.Live {
		t.res.Next = "add --live"
		t.skip(WhyQuota, "it spends quota")
	}
}

// failed ends a trial because an answer did not come.
func (t *trial) failed(err error) {
	if errors.Is(err, context.Canceled) {
		t.skip(WhyInterrupted, "interrupted")
	}
	var late *client.LateError
	if errors.As(err, &late) {
		t.mu.Lock()
		if late.Method == "initialize" {
			t.slow++
		} else {
			t.late++
		}
		t.mu.Unlock()
	}
	var gone *client.GoneError
	if errors.As(err, &gone) && gone.Stderr != "" {
		lines := strings.Split(strings.TrimSpace(gone.Stderr), "\n")
		t.fail("%v; its stderr ends with %q", err, t.tape.words(lines[len(lines)-1], 120))
	}
	t.fail("%v", err)
}

func (t *trial) fact(name, format string, args ...any) {
	if t.res.Facts == nil {
		t.res.Facts = map[string]string{}
	}
	t.res.Facts[name] = t.tape.words(fmt.Sprintf(format, args...), maxFact)
}

func (t *trial) number(name string, value float64, unit string) {
	t.res.Figures = append(t.res.Figures, Number{name, value, unit})
}

func (t *trial) took(name string, d time.Duration) {
	t.number(name, float64(d.Microseconds()/10)/100, "ms")
}

// prove adds lines of a process's to the proofs, by their index.
func (t *trial) prove(p *peer, indexes ...int) {
	for _, i := range indexes {
		if len(t.res.Proofs) >= maxProofs {
			return
		}
		if i < 0 {
			continue // a frame that did not come
		}
		lines := p.conn.Lines(i)
		if len(lines) == 0 {
			continue
		}
		from := agentName(p.gen)
		if lines[0].Sent {
			from = "client"
		}
		t.addProof(Proof{p.seqOf(i), from, t.tape.quote(lines[0].Bytes)})
	}
}

func (t *trial) addProof(p Proof) {
	for _, have := range t.res.Proofs {
		if have.Seq == p.Seq {
			return
		}
	}
	if len(t.res.Proofs) < maxProofs {
		t.res.Proofs = append(t.res.Proofs, p)
	}
}

// fresh is a process of this trial's own that has shaken hands.
func (t *trial) fresh(o offers, env ...string) *peer {
	p, err := t.spawn(o, env...)
	if err != nil {
		t.failed(err)
	}
	t.own = append(t.own, p)
	if a, err := p.initialize(t.ctx); err != nil {
		p.spoiled.Store(true)
		t.failed(err)
	} else if a.Error.Exists() {
		t.prove(p, a.Index)
		t.fail("initialize was refused: %s", clip(a.Error.Raw, 200))
	}
	return p
}

// borrow is a process that others have used, or will use, as well; it is not to
// be ended.
func (t *trial) borrow() *peer {
	p := t.pooled()
	if p == nil {
		p = t.fresh(offers{})
		t.own = t.own[:len(t.own)-1]
	}
	t.lent = append(t.lent, p)
	return p
}

// answer sends a request and waits for what comes, an error included.
func (t *trial) answer(p *peer, method, params string) client.Answer {
	return t.await(p, p.conn.Request(method, params), t.opt.Timeout)
}

func (t *trial) await(p *peer, call *client.Call, patience time.Duration) client.Answer {
	ctx, cancel := t.within(patience)
	defer cancel()
	a, err := call.Wait(ctx)
	if err != nil {
		p.spoiled.Store(true)
		t.prove(p, call.Index)
		t.failed(err)
	}
	if id := a.Result.Get("sessionId").Str; id != "" && (call.Method == "session/new" || call.Method == "session/fork") {
		t.opened(id)
		if call.Method == "session/new" {
			p.r.hold(p, id)
		}
	}
	return a
}

// result is answer where an error ends the trial.
func (t *trial) result(p *peer, method, params string) (gjson.Result, client.Answer) {
	call := p.conn.Request(method, params)
	a := t.await(p, call, t.opt.Timeout)
	if a.Error.Exists() {
		t.prove(p, call.Index, a.Index)
		t.fail("%s was refused: %s", method, describe(a.Error))
	}
	return a.Result, a
}

// describe is an error of the agent's in a few words.
func describe(e gjson.Result) string {
	text := fmt.Sprintf("%d %s", e.Get("code").Int(), clip(e.Get("message").Str, 120))
	if loc := wanted(e); loc != "" {
		text += " (" + loc + ")"
	} else if d := e.Get("data.details").Str; d != "" {
		text += " (" + clip(d, 120) + ")"
	}
	return text
}

// wanted is what data.errors[].loc of an error names: the fields that are missing
// or wrong.
func wanted(e gjson.Result) string {
	var names []string
	for _, one := range e.Get("data.errors").Array() {
		var loc []string
		for _, part := range one.Get("loc").Array() {
			loc = append(loc, part.String())
		}
		names = append(names, strings.Join(loc, "."))
	}
	return clip(strings.Join(names, ", "), 120)
}

// session opens one in this trial's directory.
func (t *trial) session(p *peer) (id string, made gjson.Result) { return t.sessionWith(p, "[]") }

func (t *trial) sessionWith(p *peer, servers string) (id string, made gjson.Result) {
	made, a := t.result(p, "session/new", t.newParams(servers))
	if id = made.Get("sessionId").Str; id == "" {
		t.prove(p, a.Index)
		t.fail("session/new answered without a sessionId")
	}
	return id, made
}

func (t *trial) newParams(servers string) string {
	return `{"cwd":` + wire.Quote(t.cwd) + `,"mcpServers":` + servers + `}`
}

// again are the params of load and resume.
func (t *trial) again(id string) string {
	return `{"sessionId":` + wire.Quote(id) + `,"cwd":` + wire.Quote(t.cwd) + `,"mcpServers":[]}`
}

func of(id string) string { return `{"sessionId":` + wire.Quote(id) + `}` }

// path is a file in the trial's directory.
func (t *trial) path(name string) string { return filepath.Join(t.cwd, name) }

func (t *trial) exists(name string) bool {
	_, err := os.Stat(t.path(name))
	return err == nil
}

func (t *trial) cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// missing reports whether an error says that the method is not known.
func missing(a client.Answer) bool { return a.Error.Get("code").Int() == -32601 }
