package probe

import (
	"fmt"
	"strings"

	"acp-shim/internal/client"
	"acp-shim/internal/wire"
)

func errorGates() []*gate {
	return []*gate{
		{id: "errors", title: "error shapes",
			criterion: "an unknown method is answered with -32601, what is no session not with -32000 (log in)", source: rpc + " section 5.1", run: errorShapes},
		{id: "names", title: "wanted parameter names",
			criterion: "a request with a wrong or missing name is refused with -32602, and says which one is wanted", source: "seed, reference, error shapes", run: wantedNames},
	}
}

func errorShapes(t *trial) {
	p := t.borrow()
	unknown := t.asked(p, "acp-probe/none", "{}")
	t.fact("unknown method", "%s", answered(unknown))
	t.fact("its data", "%s", dataMembers(unknown))
	none := t.asked(p, "session/set_mode", setMode("00000000-0000-4000-8000-000000000000", "default"))
	t.fact("unknown session", "%s", answered(none))
	t.fact("its data in that", "%s", dataMembers(none))
	text := fmt.Sprintf("unknown method %s; unknown session %s", answered(unknown), answered(none))
	switch {
	case !unknown.Error.Exists():
		t.fail("an unknown method is answered as if it were known: %s", text)
	case !missing(unknown):
		t.fallback("%s", text)
	case !none.Error.Exists():
		t.fallback("a session that there is not is taken: %s", text)
	case none.Error.Get("code").Int() == -32000 && !strings.Contains(strings.ToLower(none.Error.Get("message").Str), "auth"):
		t.fallback("%s: -32000, which clients read as: log in", text)
	}
	t.pass("%s", text)
}

// asked sends a request and proves what comes.
func (t *trial) asked(p *peer, method, params string) client.Answer {
	call := p.conn.Request(method, params)
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	return a
}

func dataMembers(a client.Answer) string {
	d := a.Error.Get("data")
	switch {
	case !a.Error.Exists():
		return "no error"
	case !d.Exists():
		return "none"
	case d.IsObject():
		return memberNames(d)
	}
	return d.Type.String()
}

// wantedNames sends requests that no agent can carry out, so that none of them
// begins a login or a turn.
func wantedNames(t *trial) {
	p := t.borrow()
	type wrong struct{ name, method, params, want string }
	list := []wrong{
		{"authenticate without methodId", "authenticate", `{"method":"acp-probe-none"}`, "methodId"},
		{"session/new without mcpServers", "session/new", `{"cwd":` + wire.Quote(t.cwd) + `}`, "mcpServers"},
		{"session/new without cwd", "session/new", `{"mcpServers":[]}`, "cwd"},
	}
	t.mu.Lock()
	barred := t.barred != nil
	t.mu.Unlock()
	if !barred {
		id, made := t.session(p)
		if c := choicesOf(made); c.mode.id != "" {
			list = append(list, wrong{"session/set_mode with mode", "session/set_mode", `{"sessionId":` + wire.Quote(id) + `,"mode":` + wire.Quote(c.mode.current) + `}`, "modeId"})
		}
		list = append(list,
			wrong{"session/load without cwd", "session/load", `{"sessionId":` + wire.Quote(id) + `,"mcpServers":[]}`, "cwd"},
			wrong{"session/close without sessionId", "session/close", `{"session":` + wire.Quote(id) + `}`, "sessionId"})
	}
	t.res.Proofs = nil
	var taken, mute, named []string
	for _, w := range list {
		a := t.asked(p, w.method, w.params)
		t.fact(w.name, "%s", answered(a))
		text := a.Error.Get("message").Str + a.Error.Get("data").Raw
		switch {
		case !a.Error.Exists():
			taken = append(taken, w.name)
		case missing(a):
		case !strings.Contains(text, w.want):
			mute = append(mute, w.name)
		default:
			named = append(named, w.want)
		}
	}
	switch {
	case len(taken) > 0:
		t.fallback("taken as they are: %s", strings.Join(taken, ", "))
	case len(mute) > 0:
		t.fallback("refused without the name that is wanted: %s", strings.Join(mute, ", "))
	}
	t.pass("refused, each with the name that is wanted: %s", strings.Join(named, ", "))
}
