package rewrite

import (
	"strings"
	"testing"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// TestDeep: what nests very deep, wherever a row looks, costs no stack and no
// more time than its length.
func TestDeep(t *testing.T) {
	const depth = 50_000
	rw := newRewriter(t, "tool-display=on")
	in := newInjector(t, InjectOptions{Bridge: "http://h:1/x"})
	rules := mustRules(t, `[{"method":"*","direction":"to-agent","set":{"a.*.*.x":1},"delete":["mcpServers.0.0.0"],"default":{"z.z":1}},{"method":"*","direction":"to-client","rename":{"update.*.x":"y"},"set":{"b":2}}]`)
	for name, deep := range map[string]string{
		"lists":   strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth),
		"objects": strings.Repeat(`{"x":`, depth) + `1` + strings.Repeat(`}`, depth),
	} {
		for _, frame := range []string{
			`{"id":1,"method":"session/new","params":{"mcpServers":[` + deep + `],"a":` + deep + `}}`,
			`{"id":1,"method":"session/load","params":{"mcpServers":[{"name":"a.b","url":"u","headers":` + deep + `}]}}`,
			`{"id":1,"method":"session/set_config_option","params":{"optionId":` + deep + `,"value":"plan"}}`,
			`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{"arguments":{"a":` + deep + `}},"content":[` + deep + `]}}}`,
			`{"method":"session/update","params":{"sessionId":"s","update":{"content":` + deep + `,"sessionUpdate":"agent_message_chunk"}}}`,
			`{"id":1,"method":"session/request_permission","params":{"options":[{"kind":"allow_always","x":` + deep + `},{"kind":"allow_once"}]}}`,
			`{"id":1,"result":{"modes":{"availableModes":[` + deep + `]},"configOptions":[{"id":"mode","options":` + deep + `}]}}`,
			`{"id":1,"error":{"code":-32602,"data":{"errors":[` + deep + `]}}}`,
		} {
			start := time.Now()
			m := parse(frame)
			for _, q := range Quirks() {
				if q.down != nil && m.Kind == wire.Request && m.Method != methodPrompt && q.Name != "set-model" {
					q.down(rw, &proxy.Step{}, m)
				}
				if q.up != nil {
					rw.seen = look{}
					q.up(rw, &proxy.Step{}, m)
				}
			}
			rememberModes(rw, nil, m)
			NewPermissions(Allow).choose(m)
			fix(m, result(string(m.Text(m.Error))))
			rules.apply(m, m.Method+"x", rulesToAgent)
			rules.apply(m, m.Method+"x", rulesToClient)
			if opensSession(m.Method) {
				in.FromClient(&proxy.Step{}, m)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s in %.60s: %v", name, frame, took)
			}
			if got := wire.Undo(m.Raw, m.Edits()); string(got) != frame || !wire.Valid(m.Raw) {
				t.Errorf("%s in %.60s: it became %.300s", name, frame, m.Raw)
			}
		}
	}
}
