package probe

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

func endGates() []*gate {
	return []*gate{
		{id: "eof", title: "end of stdin", criterion: "the process ends by itself within 2 s and leaves nothing behind",
			source: acp + "transports (the client closes stdin, then ends the process)", run: endOfInput},
		{id: "term", title: "SIGTERM", criterion: "the process ends within 750 ms, as long as clients wait before SIGKILL, and leaves nothing behind",
			source: "pi-antigravity-bridge, its ladder", run: terminated},
	}
}

const (
	eofLimit  = 2 * time.Second
	termLimit = 750 * time.Millisecond
	// endPatience is how long an end is waited for.
	endPatience = 10 * time.Second
)

// ending is a process with a session, if one can be opened: it may start further
// ones then.
func (t *trial) ending() *peer {
	p := t.fresh(offers{})
	a := t.answer(p, "session/new", t.newParams("[]"))
	t.prove(p, a.Index)
	return p
}

func endOfInput(t *trial) {
	p := t.ending()
	p.conn.Process.Expect()
	began := time.Now()
	p.conn.Process.CloseStdin()
	exit, took, ended := t.awaitEnd(p, began)
	t.fact("ends", "%t", ended)
	if !ended {
		t.fallback("it goes on %v after the end of its stdin: SIGTERM must follow", took)
	}
	left := t.leftBehind(p)
	t.took("end of stdin to exit", took)
	t.fact("exit", "%s", exit)
	text := fmt.Sprintf("%s after %s", exit, coarse(took))
	switch {
	case left != "":
		t.fail("%s; left behind: %s", text, left)
	case p.conn.Process.Exit().Code != 0:
		t.fallback("%s", text)
	case took > eofLimit:
		t.fallback("%s: SIGTERM must follow", text)
	}
	t.pass("%s; nothing is left behind", text)
}

// awaitEnd waits for a process's end.
func (t *trial) awaitEnd(p *peer, began time.Time) (exit string, took time.Duration, ended bool) {
	ctx, stop := t.within(min(endPatience, t.opt.Timeout))
	defer stop()
	select {
	case <-p.conn.Process.Done():
	case <-ctx.Done():
		if t.ctx.Err() != nil {
			t.failed(t.ctx.Err())
		}
		return "", time.Since(began).Round(time.Second), false
	}
	took = time.Since(began)
	select {
	case <-p.conn.Process.StderrDone():
	case <-time.After(200 * time.Millisecond):
	}
	words := p.conn.Process.Exit().Words
	return strings.TrimSuffix(words, ", sent by the shim"), took, true
}

// quiet is how long nothing of an agent must be seen. A process that is just being
// started has no environment yet, and is not known by it.
const quiet = 100 * time.Millisecond

// leftBehind names what still runs of an agent that has ended. Its children may
// need a moment.
func (t *trial) leftBehind(p *peer) string {
	seen := time.Now()
	for deadline := seen.Add(time.Second); ; time.Sleep(20 * time.Millisecond) {
		list, ok := family(t.opt.RunID, p.gen, p.conn.Process.Pid)
		if !ok {
			t.fact("left behind", "not known on %s", runtime.GOOS)
			return ""
		}
		if len(list) == 0 {
			if time.Since(seen) < quiet {
				continue
			}
			t.fact("left behind", "nothing")
			return ""
		}
		seen = time.Now()
		if time.Now().After(deadline) {
			var names []string
			for _, m := range list {
				names = append(names, clip(m.name, 40))
			}
			t.fact("left behind", "%s", strings.Join(names, ", "))
			return strings.Join(names, ", ")
		}
	}
}

func terminated(t *trial) {
	if runtime.GOOS == "windows" {
		t.skip(WhySystem, "there is no SIGTERM here")
	}
	p := t.ending()
	before := p.errors()
	began := time.Now()
	p.conn.Process.Terminate()
	exit, took, ended := t.awaitEnd(p, began)
	t.fact("ends", "%t", ended)
	if !ended {
		t.fallback("it goes on %v after a SIGTERM: SIGKILL must follow", took)
	}
	left := t.leftBehind(p)
	after := p.errors()
	t.took("SIGTERM to exit", took)
	t.fact("exit", "%s", exit)
	t.fact("a trace on stderr", "%t", after.traces > before.traces)
	text := fmt.Sprintf("%s after %s", exit, coarse(took))
	if after.traces > before.traces {
		text += ", with a trace on stderr"
	}
	switch {
	case left != "":
		t.fail("%s; left behind: %s", text, left)
	case took > termLimit:
		t.fallback("%s: SIGKILL must follow", text)
	}
	t.pass("%s; nothing is left behind", text)
}
