package rewrite

import (
	"slices"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/flat"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// changes are the members that each row of the table may change; rows that are
// missing here change no frame.
var changes = map[string][][]string{
	"auth-method-id":      {{"params", "method"}, {"params", "methodId"}},
	"config-id":           {{"params", "configOptionId"}, {"params", "optionId"}, {"params", "configId"}},
	"mode-id":             {{"params", "mode"}, {"params", "modeId"}},
	"mode-names":          {{"params", "modeId"}, {"params", "value"}},
	"set-model":           {{"method"}, {"params", "modelId"}, {"params", "value"}, {"params", "configId"}, {"result"}},
	"mcp-servers-missing": {{"params", "mcpServers"}},
	"mcp-entries":         {{"params", "mcpServers", "*"}},
	"mcp-names":           {{"params", "mcpServers", "*", "name"}},
	"leaked-cancel":       {{"params", "update", "content", "text"}},
	"permission-order":    {{"params", "options", "*"}},
	"failed-turn":         {{"result", "_meta"}},
	"bricked":             {{"params", "update", "content", "text"}, {"error", "message"}},
	"tool-display": {
		{"params", "update", "title"}, {"params", "update", "rawInput"}, {"params", "update", "rawOutput"},
		{"params", "toolCall", "title"}, {"params", "toolCall", "rawInput"}, {"params", "toolCall", "rawOutput"},
	},
}

// kept fails where a frame that was changed cannot be given back, is no JSON any
// more, or differs beside what may change.
func kept(t *testing.T, what string, was []byte, m *proxy.Message, may [][]string) {
	t.Helper()
	if got := wire.Undo(m.Raw, m.Edits()); !slices.Equal(got, was) {
		t.Fatalf("%s: %q cannot be undone from %q", what, was, m.Raw)
	}
	if len(m.Edits()) == 0 {
		if !slices.Equal(m.Raw, was) {
			t.Fatalf("%s: %q changed without an edit", what, was)
		}
		return
	}
	if !wire.Valid(m.Raw) {
		t.Fatalf("%s: %q became %q", what, was, m.Raw)
	}
	if d := flat.Beside(was, m.Raw, may...); d != "" {
		t.Fatalf("%s: %q became %q: %s", what, was, m.Raw, d)
	}
}

func fresh(line []byte) *proxy.Message {
	m := &proxy.Message{}
	m.Parse(slices.Clone(line))
	return m
}

// FuzzDown: each row that is about requests changes what it is about and nothing
// else, and all of them a second time change nothing.
func FuzzDown(f *testing.F) {
	for _, line := range seeds.Frames() {
		f.Add(line)
	}
	rw := newRewriter(f)
	row := map[string]Quirk{}
	for _, q := range Quirks() {
		row[q.Name] = q
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		run := func(line []byte) []byte {
			for _, q := range Quirks() {
				m := fresh(line)
				if m.Kind != wire.Request || !slices.Contains(q.requests, m.Method) || m.Method == methodPrompt {
					continue
				}
				if q.Name == "set-model" {
					toConfigOption(m)
				} else {
					q.down(rw, &proxy.Step{}, m)
				}
				kept(t, q.Name, line, m, changes[q.Name])
				line = m.Raw
			}
			return line
		}
		once := run(line)
		if twice := run(once); !slices.Equal(once, twice) && fresh(line).Method != methodSetModel {
			t.Fatalf("%q became %q and then %q", line, once, twice)
		}
		// What set_model has become is another method, whose rows leave it alone.
		if m := fresh(line); m.Method == methodSetModel && toConfigOption(m) {
			if again := run(m.Raw); !slices.Equal(again, m.Raw) && modelIsNoMode(m) {
				t.Fatalf("%q became %q and then %q", line, m.Raw, again)
			}
		}
	})
}

// modelIsNoMode tells that the rows about modes have nothing to do with the frame.
func modelIsNoMode(m *proxy.Message) bool {
	id, ok := m.At(m.Params, "configId")
	return ok && m.String(id) == "model" && !has(m.Members(m.Params), "optionId") && !has(m.Members(m.Params), "configOptionId")
}

// FuzzUp: so do those about what the agent says.
func FuzzUp(f *testing.F) {
	f.Add([]byte(chunkLine("x context canceledThe request was canceled by the client.")))
	f.Add([]byte(chunkLine("context canceledThe request was canceled by the client.")))
	f.Add([]byte(updateLine(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"a_b","rawInput":{"arguments":{}},"_meta":{"mcp":{"tool":"b"}}}`)))
	f.Add([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"\"}}`))
	for _, line := range seeds.Frames() {
		f.Add(line)
	}
	rw := newRewriter(f, "tool-display=on")
	rows := map[string]row{"leaked-cancel": leakedCancel, "permission-order": permissionOrder, "tool-display": toolDisplay}
	f.Fuzz(func(t *testing.T, line []byte) {
		run := func(line []byte) []byte {
			m := fresh(line)
			rw.seen = look{}
			if l := rw.look(m); l.text != nil && m.Object() {
				// The look and the members agree on a frame that may be changed.
				if at, ok := textAt(m); ok && len(m.Members(m.Params)) == 1 && string(m.Raw[at.Off+1:at.End-1]) != string(l.text) {
					t.Fatalf("%q: the look found %q", line, l.text)
				}
			}
			for _, name := range []string{"leaked-cancel", "permission-order", "tool-display"} {
				m := fresh(line)
				rw.seen = look{}
				rows[name](rw, &proxy.Step{}, m)
				kept(t, name, line, m, changes[name])
				line = m.Raw
			}
			rememberModes(rw, nil, m)
			NewPermissions(Allow).choose(m)
			return line
		}
		once := run(line)
		if twice := run(once); !slices.Equal(once, twice) && !stepwise(once) {
			t.Fatalf("%q became %q and then %q", line, once, twice)
		}
	})
}

// FuzzInject: the servers are there once, whatever was, and nothing else changes.
func FuzzInject(f *testing.F) {
	for i, line := range seeds.Frames() {
		f.Add(line, i%2 == 0)
	}
	f.Add([]byte(`{"id":1,"method":"session/load","params":{"mcpServers":[{"name":"local"},{"n\u0061me":"pi-bridge"} , 1,{"name":"local"}]}}`), true)
	f.Add([]byte(`{"id":1,"method":"session/fork","params":{"mcpServers":[{"name":"local","name":"x"}]}}`), true)
	var both [2]*Injector
	for i := range both {
		both[i] = newInjector(f, InjectOptions{Bridge: "http://h:1/x", BridgeToken: "env:TOKEN", MCPStdio: []string{`local='run it'`}, Override: i == 1})
	}
	f.Fuzz(func(t *testing.T, line []byte, override bool) {
		in := both[0]
		if override {
			in = both[1]
		}
		m := fresh(line)
		if m.Kind != wire.Request || !opensSession(m.Method) || !opens(m, m.Params, '{') || !m.Object() {
			return // it says in the log why not
		}
		if at, ok := m.At(m.Params, "mcpServers"); !ok && has(m.Members(m.Params), "mcpServers") || ok && !isNull(m, at) && !opens(m, at, '[') {
			return
		}
		in.FromClient(&proxy.Step{}, m)
		kept(t, "injection", line, m, [][]string{{"params", "mcpServers"}})
		list, _ := m.At(m.Params, "mcpServers")
		count := map[string]int{}
		for _, e := range m.Elements(list) {
			if x, ok := m.Member(e, "name"); ok {
				count[m.String(x.Value)]++
			}
		}
		for _, name := range in.Names() {
			if n := count[name]; n != 1 && (override || n == 0) {
				t.Fatalf("%q became %q, with %q in it %d times", line, m.Raw, name, n)
			}
		}
		again := fresh(m.Raw)
		in.FromClient(&proxy.Step{}, again)
		if !slices.Equal(again.Raw, m.Raw) {
			t.Fatalf("%q became %q and then %q", line, m.Raw, again.Raw)
		}
	})
}

// FuzzOracle: whatever a refusal says, what is sent once more differs in names only.
func FuzzOracle(f *testing.F) {
	for i, line := range seeds.Frames() {
		f.Add(line, `[{"loc":["`+[]string{"configId", "modeId", "methodId", "cwd", "sessionId"}[i%5]+`"],"msg":"field required"}]`)
	}
	f.Add([]byte(`{"id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"a","url":"u","hdrs":[1.0]}]}}`), `[{"loc":["mcpServers",0,"headers"],"type":"missing"}]`)
	f.Fuzz(func(t *testing.T, line []byte, errors string) {
		m := fresh(line)
		fixes, ok := fix(m, result(errors))
		if !ok {
			kept(t, "no fix", line, m, nil)
			return
		}
		// Put back under the old name it is what it was.
		if !wire.Valid(m.Raw) || string(wire.Undo(m.Raw, m.Edits())) != string(line) {
			t.Fatalf("%q became %q", line, m.Raw)
		}
		a, err := flat.Of(line)
		b, err2 := flat.Of(m.Raw)
		if err != nil || err2 != nil {
			return // nested too deep for encoding/json
		}
		if len(a) != len(b) {
			t.Fatalf("%q became %q, with other values", line, m.Raw)
		}
		renamed := 0
		for i := range a {
			if a[i].Text != b[i].Text {
				t.Fatalf("%q became %q: %s is %s", line, m.Raw, a[i].Text, b[i].Text)
			}
			if a[i].Key != b[i].Key {
				renamed++
			}
		}
		if renamed == 0 || renamed > len(m.Raw) || len(fixes) == 0 {
			t.Fatalf("%q became %q by %v", line, m.Raw, fixes)
		}
	})
}

// stepwise tells of a tool's input that was wrapped more than once: one wrapping is
// taken off each time.
func stepwise(line []byte) bool {
	m := fresh(line)
	for _, in := range []string{"update", "toolCall"} {
		if at, ok := m.At(m.Params, in, "rawInput", "arguments"); ok && opens(m, at, '{') {
			return true
		}
	}
	return false
}
