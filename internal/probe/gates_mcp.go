package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"acp-shim/internal/wire"
)

func mcpGates() []*gate {
	return []*gate{
		{id: "F", title: "MCP by http", session: true, live: true,
			criterion: "tools/list is seen by the server in a turn, and tools/call, with the header that was given", source: seed, run: overHTTP},
		{id: "F.sse", title: "MCP by SSE", session: true, live: true,
			criterion: "tools/list and tools/call by the older transport, with the header, where mcpCapabilities.sse is offered", source: acp + "session-setup", run: overSSE},
		{id: "F.stdio", title: "MCP by stdio", session: true, live: true,
			criterion: "tools/list and tools/call by a process that the agent starts, with its environment; all agents must support it", source: acp + "session-setup", run: overStdio},
		{id: "F.image", title: "MCP image result", session: true, live: true,
			criterion: "an image that a tool returns reaches the model", source: "modelcontextprotocol.io, tools, image content", run: imageResult},
		{id: "F.dead", title: "MCP server that is not there", session: true,
			criterion: "a session opens with a server that is not there; what it has is missing, nothing else", source: "seed, reference, run 6", run: deadServer},
		{id: "F.shapes", title: "MCP entries of other shapes", session: true,
			criterion: "headers is a list of name and value; other shapes are refused, any name is taken", source: acp + "session-setup", run: shapes},
	}
}

func overHTTP(t *trial) {
	p := t.borrow()
	if !p.can("mcpCapabilities.http") {
		t.skip(WhyNotOffered, "the agent does not offer mcpCapabilities.http")
	}
	s := t.serveMCP()
	roundTrip(t, p, s.entry("http", "/mcp"), s.all)
}

func overSSE(t *trial) {
	p := t.borrow()
	if !p.can("mcpCapabilities.sse") {
		t.skip(WhyNotOffered, "the agent does not offer mcpCapabilities.sse")
	}
	s := t.serveMCP()
	roundTrip(t, p, s.entry("sse", "/sse"), s.all)
}

func overStdio(t *trial) {
	if len(t.opt.Stdio) == 0 {
		t.skip(WhySystem, "no server on stdio is at hand")
	}
	log := t.path("mcp.log")
	var args []string
	for _, a := range t.opt.Stdio[1:] {
		args = append(args, wire.Quote(a))
	}
	entry := `{"name":"` + serverName + `","command":` + wire.Quote(t.opt.Stdio[0]) + `,"args":[` + strings.Join(args, ",") + `],"env":[` +
		`{"name":"` + envLog + `","value":` + wire.Quote(log) + `},{"name":"` + envToken + `","value":` + wire.Quote(t.opt.Secret) + `},` +
		`{"name":"` + envNonce + `","value":` + wire.Quote(t.nonce) + `}]}`
	roundTrip(t, t.borrow(), entry, func() (all []mcpSeen) {
		b, err := os.ReadFile(log)
		if err != nil {
			return nil
		}
		for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
			var one mcpSeen
			if json.Unmarshal(lines.Bytes(), &one) == nil {
				all = append(all, one)
			}
		}
		return all
	})
}

// roundTrip has the agent call a tool of a server.
func roundTrip(t *trial, p *peer, entry string, seen func() []mcpSeen) {
	call := p.conn.Request("session/new", t.newParams("["+entry+"]"))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	if a.Error.Exists() {
		t.fail("the entry is refused: %s", describe(a.Error))
	}
	eager := "lazily, in the turn"
	if len(seen()) > 0 {
		eager = "before the turn"
	}
	u := t.prompt(p, a.Result.Get("sessionId").Str, askTool(toolEcho, serverName, "PROBE-9"))
	said := u.finish()
	t.prove(p, u.call.Index)
	for _, c := range u.tools() {
		t.prove(p, c.first, c.final)
		if strings.Contains(c.title+c.meta, toolEcho) {
			t.fact("title", "%s", c.title)
			t.fact("input", "%s", strings.ReplaceAll(c.rawInput, t.nonce, "NONCE"))
			t.fact("_meta", "%s", c.meta)
		}
	}
	t.prove(p, u.answer.Index)
	var methods []string
	barred := false
	for _, one := range seen() {
		// A client may look for a login first (OAuth), and has no header there.
		if barred = barred || !one.Token; one.Token && !slices.Contains(methods, one.Method) {
			methods = append(methods, one.Method)
		}
	}
	t.fact("seen", "%s", strings.Join(methods, ", "))
	t.fact("connects", "%s", eager)
	reached := slices.Contains(methods, "tools/call")
	switch {
	case len(methods) == 0 && barred:
		t.fail("the server was asked without the secret that its entry has")
	case len(methods) == 0:
		t.fail("the server was never asked anything; the turn says %q", clip(tidy(said), 80))
	case !slices.Contains(methods, "tools/list") || !reached:
		t.fail("the server saw only %s", strings.Join(methods, ", "))
	case !holds(said, t.nonce):
		t.fallback("the tool was called, and its answer is not in the turn's text: %q", clip(tidy(said), 80))
	}
	t.pass("%s, with the secret; connects %s", strings.Join(methods, ", "), eager)
}

func imageResult(t *trial) {
	p := t.borrow()
	if !p.can("mcpCapabilities.http") {
		t.skip(WhyNotOffered, "the agent does not offer mcpCapabilities.http")
	}
	s := t.serveMCP()
	id, _ := t.sessionWith(p, "["+s.entry("http", "/mcp")+"]")
	u := t.prompt(p, id, askImage(serverName))
	said := u.finish()
	called := false
	for _, one := range s.all() {
		called = called || one.Method == "tools/call"
	}
	shownAs := "not"
	for _, c := range u.tools() {
		t.prove(p, c.first, c.final)
	}
	for _, x := range u.updates() {
		if x.kind == "tool_call_update" && x.body.Get(`content.#(content.type=="image")`).Exists() {
			shownAs = "as content"
		}
	}
	t.prove(p, u.answer.Index)
	t.fact("image in the update", "%s", shownAs)
	switch {
	case !called:
		t.fail("the tool was not called; the turn says %q", clip(tidy(said), 80))
	case !holds(said, "red"):
		t.fallback("the tool was called, and the answer has no red in it: %q", clip(tidy(said), 80))
	}
	t.pass("the model sees it; in the update the image is shown %s", shownAs)
}

func deadServer(t *trial) {
	// A port that was just free, and that nobody listens on.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.fail("no loopback port is to be had here: %v", err)
	}
	url := "http://" + l.Addr().String() + "/mcp"
	_ = l.Close() // it is only its number that is wanted
	p := t.borrow()
	if !p.can("mcpCapabilities.http") {
		t.skip(WhyNotOffered, "the agent does not offer mcpCapabilities.http")
	}
	call := p.conn.Request("session/new", t.newParams(`[{"type":"http","name":"acp-probe-dead","url":`+wire.Quote(url)+`,"headers":[]}]`))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	if a.Error.Exists() {
		t.fact("session/new", "refused")
		t.fallback("the session is refused: %s; see that a server is there before it is named", describe(a.Error))
	}
	t.fact("session/new", "opened")
	t.took("session/new", a.Took())
	if !t.opt.Live {
		t.pass("the session opens")
	}
	u := t.prompt(p, a.Result.Get("sessionId").Str, askHello)
	said := u.finish()
	t.prove(p, u.answer.Index)
	if strings.TrimSpace(said) == "" {
		t.fail("the session opens, and its turn ends without a word")
	}
	t.pass("the session opens, and a turn ends in order: %q", clip(tidy(said), 60))
}

func shapes(t *trial) {
	p := t.borrow()
	const url = `"url":"http://127.0.0.1:9/mcp"`
	var taken, refused, odd []string
	for _, c := range []struct {
		name, entry string
		bad         bool // ACP does not have it
	}{
		{"headers as a map", `{"type":"http","name":"probe-a",` + url + `,"headers":{"x-a":"b"}}`, true},
		{"no headers", `{"type":"http","name":"probe-b",` + url + `}`, true},
		{"env as a map", `{"name":"probe-c","command":"/bin/true","args":[],"env":{"A":"b"}}`, true},
		{"no args", `{"name":"probe-d","command":"/bin/true","env":[]}`, true},
		{"a url without a type", `{"name":"probe-e",` + url + `,"headers":[]}`, true},
		{"an unknown type", `{"type":"carrier-pigeon","name":"probe-f",` + url + `,"headers":[]}`, true},
		{"type acp", `{"type":"acp","name":"probe-g","id":"probe-g"}`, false},
		{"a dot in the name", `{"type":"http","name":"probe.h",` + url + `,"headers":[]}`, false},
	} {
		call := p.conn.Request("session/new", t.newParams("["+c.entry+"]"))
		a := t.await(p, call, t.opt.Timeout)
		if c.bad != a.Error.Exists() || len(t.res.Proofs) < 2 {
			t.prove(p, call.Index, a.Index)
		}
		how := "taken"
		if a.Error.Exists() {
			how = "refused: " + describe(a.Error)
		}
		t.fact(c.name, "%s", how)
		switch {
		case c.bad && !a.Error.Exists():
			taken = append(taken, c.name)
		case c.bad:
			refused = append(refused, c.name)
		case c.name == "a dot in the name" && a.Error.Exists():
			odd = append(odd, c.name)
		}
	}
	var parts []string
	if len(refused) > 0 {
		parts = append(parts, fmt.Sprintf("refused: %s", strings.Join(refused, ", ")))
	}
	if len(taken) > 0 {
		parts = append(parts, fmt.Sprintf("taken: %s", strings.Join(taken, ", ")))
	}
	if len(odd) > 0 {
		parts = append(parts, fmt.Sprintf("refused though ACP has it: %s", strings.Join(odd, ", ")))
	}
	text := strings.Join(parts, "; ")
	if len(odd) > 0 || len(taken) > 0 {
		t.fallback("%s", text)
	}
	t.pass("%s", text)
}
