package rewrite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-shim/fixtures/bridge"
	"acp-shim/proxy"
)

const (
	opened  = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`
	openedR = "1 result with sessionId, modes, models, configOptions"
)

func promptLine(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"$S","prompt":[{"type":"text","text":%q}]}}`, id, text)
}

// conversation is one quirk's problem with the bare agent, and its solution
// through the shim: the same frames of a client's, and what comes of them.
type conversation struct {
	quirk, build string
	args         []string // more for the simulator
	on           bool     // it has to be switched on
	also         []string // what else is off where it is off: it would show as well
	frames       []string
	bare         []string
	through      []string
}

func conversations() []conversation {
	setMode := func(param string) []string {
		return []string{opened, `{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":"$S",` + param + `}}`, promptLine(3, "config")}
	}
	setConfig := func(params string) []string {
		return []string{opened, `{"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"$S",` + params + `}}`, promptLine(3, "config")}
	}
	newWith := func(servers string) []string {
		return []string{`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":` + servers + `}}`}
	}
	const (
		usual = `text "model=gemini-3.7-flash-high mode=default"`
		end   = `3 result {"stopReason":"end_turn"}`
		end2  = `2 result {"stopReason":"end_turn"}`
		set   = "2 result with configOptions"
	)
	return []conversation{
		{
			quirk: "auth-method-id", build: "rc01",
			frames:  []string{`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"method":"gemini-api-key"}}`},
			bare:    []string{"1 error -32602 methodId: field required"},
			through: []string{"1 result {}"},
		},
		{
			quirk: "config-id", build: "rc01",
			frames:  setConfig(`"configOptionId":"model","value":"gemini-3.6-flash-low"`),
			bare:    []string{openedR, "2 error -32602 configId: field required", usual, end},
			through: []string{openedR, set, `text "model=gemini-3.6-flash-low mode=default"`, end},
		},
		{
			quirk: "config-id", build: "1.3.0",
			frames:  setConfig(`"optionId":"mode","value":"yolo"`),
			bare:    []string{openedR, "2 error -32602 configId: field required", `text "model=gemini-3.8-flash-high mode=default"`, end},
			through: []string{openedR, set, `text "model=gemini-3.8-flash-high mode=yolo"`, end},
		},
		{
			quirk: "mode-id", build: "rc01",
			frames:  setMode(`"mode":"yolo"`),
			bare:    []string{openedR, "2 error -32602 modeId: field required", usual, end},
			through: []string{openedR, "2 result {}", `text "model=gemini-3.7-flash-high mode=yolo"`, end},
		},
		{
			quirk: "mode-names", build: "rc01",
			frames:  setMode(`"modeId":"acceptEdits"`),
			bare:    []string{openedR, "2 error -32602 modeId: unknown mode", usual, end},
			through: []string{openedR, "2 result {}", `text "model=gemini-3.7-flash-high mode=auto_edit"`, end},
		},
		{
			quirk: "mode-names", build: "rc01",
			frames:  setConfig(`"configId":"mode","value":"bypassPermissions"`),
			bare:    []string{openedR, "2 error -32602 value: unknown value", usual, end},
			through: []string{openedR, set, `text "model=gemini-3.7-flash-high mode=yolo"`, end},
		},
		{
			quirk: "no-plan-mode", also: []string{"config-id=off"}, build: "rc01",
			frames: setMode(`"modeId":"plan"`),
			bare:   []string{openedR, "2 error -32602 modeId: unknown mode", usual, end},
			through: []string{openedR, `2 error -32602 acp-shim: this agent has no review-only mode like "plan", and none that writes was taken in its place; its modes are default, auto_edit, yolo`,
				usual, end},
		},
		{
			quirk: "no-plan-mode", also: []string{"config-id=off"}, build: "1.3.0",
			frames:  setConfig(`"optionId":"mode","value":"read-only"`)[:2],
			bare:    []string{openedR, "2 error -32602 configId: field required"},
			through: []string{openedR, `2 error -32602 acp-shim: this agent has no review-only mode like "read-only", and none that writes was taken in its place; its modes are default, auto_edit, yolo`},
		},
		{
			quirk: "set-model", build: "rc01",
			frames:  []string{opened, `{"jsonrpc":"2.0","id":2,"method":"session/set_model","params":{"sessionId":"$S","modelId":"gemini-pro-agent"}}`, promptLine(3, "config")},
			bare:    []string{openedR, "2 error -32601 Method not found", usual, end},
			through: []string{openedR, "2 result {}", `text "model=gemini-pro-agent mode=default"`, end},
		},
		{
			quirk: "mcp-servers-missing", build: "rc01",
			frames:  []string{`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`},
			bare:    []string{"1 error -32602 mcpServers: field required"},
			through: []string{openedR},
		},
		{
			quirk: "mcp-entries", build: "rc01",
			frames:  newWith(`[{"name":"a","type":"http","url":"http://127.0.0.1:9/","headers":{"k":"v"}},{"name":"b","command":"true","args":["-x"],"env":{"PORT":80}}]`),
			bare:    []string{"1 error -32602 mcpServers.0.headers: value is not a valid list mcpServers.1.env: value is not a valid list"},
			through: []string{openedR},
		},
		{
			quirk: "mcp-entries", build: "1.3.0",
			frames: newWith(`[{"name":"a","url":"http://127.0.0.1:9/"},{"name":"b","command":"true"},{"name":"c","type":"sse","url":"http://127.0.0.1:9/sse","headers":null}]`),
			bare: []string{"1 error -32602 mcpServers.0.args: field required mcpServers.0.command: field required mcpServers.0.env: field required " +
				"mcpServers.1.args: field required mcpServers.1.env: field required mcpServers.2.headers: value is not a valid list"},
			through: []string{openedR},
		},
		{
			quirk: "mcp-names", build: "1.1.1",
			frames:  newWith(`[{"name":"com.example.a","command":"true","args":[],"env":[]}]`),
			bare:    []string{"1 error -32602 mcpServers.0.name: server name must not contain dots"},
			through: []string{openedR},
		},
		{
			quirk: "oracle", build: "rc01",
			frames:  setConfig(`"option":"model","value":"gemini-3.6-flash-low"`),
			bare:    []string{openedR, "2 error -32602 configId: field required", usual, end},
			through: []string{openedR, set, `text "model=gemini-3.6-flash-low mode=default"`, end},
		},
		{
			quirk: "oracle", build: "1.3.0",
			frames:  newWith(`[{"name":"a","type":"http","uri":"http://127.0.0.1:9/","headers":[]},{"name":"b","type":"http","uri":"http://127.0.0.1:9/","headers":[]}]`),
			bare:    []string{"1 error -32602 mcpServers.0.url: field required mcpServers.1.url: field required"},
			through: []string{openedR},
		},
		{
			quirk: "leaked-cancel", build: "1.2.1",
			frames: []string{opened, promptLine(2, "leak"), promptLine(3, "leak cancelled")},
			bare: []string{openedR, `text "Some text before it. context canceledThe request was canceled by the client."`, end2,
				`text "Some text before it. context canceledThe request was cancelled by the client."`, end},
			through: []string{openedR, `text "Some text before it. "`, end2, `text "Some text before it. "`, end},
		},
		{
			quirk: "bricked", build: "1.1.1", also: []string{"failed-turn=off"},
			frames: []string{opened, promptLine(2, `error could not find doneCh for checkpoint 3`), promptLine(3, "error of another kind")},
			bare:   []string{openedR, `text "Agent execution error: could not find doneCh for checkpoint 3"`, end2, `text "Agent execution error: of another kind"`, end},
			through: []string{openedR, `text "Agent execution error: could not find doneCh for checkpoint 3; a checkpoint of this conversation was left half-written when its process was killed; end the agent and mend it with: acp-shim sessions repair $S"`,
				`2 result {"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"agent-error","text-begins":"Agent execution error: "}}}`,
				`text "Agent execution error: of another kind"`, `3 result {"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"agent-error","text-begins":"Agent execution error: "}}}`},
		},
		{
			quirk: "permission-order", build: "1.1.1",
			frames: []string{opened, promptLine(2, "ask"), promptLine(3, "ask")},
			// Once the bare agent has been allowed for good it never asks again.
			bare: []string{openedR, "tool_call Run run_command? pending in=$IN out=", "asks allow_always,allow_once,reject_once gets allow_always",
				`tool_call_update  completed in= out="run_command"`, `text "The command was allowed."`, end2,
				"tool_call Run run_command? pending in=$IN out=", `tool_call_update  completed in= out="run_command"`, `text "The command was unasked."`, end},
			through: []string{openedR, "tool_call Run run_command? pending in=$IN out=", "asks allow_once,allow_always,reject_once gets allow",
				`tool_call_update  completed in= out="run_command"`, `text "The command was allowed."`, end2,
				"tool_call Run run_command? pending in=$IN out=", "asks allow_once,allow_always,reject_once gets allow",
				`tool_call_update  completed in= out="run_command"`, `text "The command was allowed."`, end},
		},
		{
			quirk: "failed-turn", build: "rc01",
			frames: []string{opened, promptLine(2, "error boom"), promptLine(3, "blank"), promptLine(4, "thought")},
			bare: []string{openedR, `text "Agent execution error: boom"`, end2, end,
				"agent_thought_chunk", `text "I have thought about it."`, `4 result {"stopReason":"end_turn"}`},
			through: []string{openedR, `text "Agent execution error: boom"`,
				`2 result {"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"agent-error","text-begins":"Agent execution error: "}}}`,
				`3 result {"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"blank"}}}`,
				"agent_thought_chunk", `text "I have thought about it."`, `4 result {"stopReason":"end_turn"}`},
		},
		{
			quirk: "noise", build: "rc01",
			frames: []string{opened, promptLine(2, "noise")},
			bare: []string{openedR, `text "noise follows. "`, "noise Opening in existing browser session.", `text "noise follows. "`, "noise ",
				`text "noise follows. "`, "noise WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
				`text "noise follows. "`, "noise indented, and no protocol either", end2},
			through: []string{openedR, `text "noise follows. noise follows. noise follows. noise follows. "`, end2},
		},
		{
			quirk: "raw-ws", build: "rc01", args: []string{"--raw-ws=200K"},
			frames:  []string{opened, promptLine(2, "Reply with exactly: hello.")},
			bare:    []string{openedR, `text "hello."`, end2, "stderr has RAW WS MSG"},
			through: []string{openedR, `text "hello."`, end2},
		},
		{
			quirk: "cumulative-resend", build: "1.1.1", on: true,
			frames: []string{opened, promptLine(2, "resend")},
			bare: []string{openedR, `tool_call view_file in_progress in={"AbsolutePath":"README.md"} out=`, `tool_call view_file in_progress in={"AbsolutePath":"README.md"} out=`,
				`tool_call_update  completed in= out="view_file"`,
				`text "Each of thEach of these repeatEach of these repeats what wasEach of these repeats what was said befoEach of these repeats what was said before."`, end2},
			through: []string{openedR, `tool_call view_file in_progress in={"AbsolutePath":"README.md"} out=`, `tool_call view_file in_progress in={"AbsolutePath":"README.md"} out=`,
				`tool_call_update  completed in= out="view_file"`,
				`text "Each of these repeats what was said before."`, end2},
		},
		{
			quirk: "tool-display", build: "1.3.0", on: true,
			frames: []string{`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"type":"http","name":"pi-bridge","url":"$BRIDGE","headers":[{"name":"x-bridge-token","value":"secret"}]}]}}`,
				promptLine(2, `mcp pi-bridge bridge_echo {"text":"ping"}`)},
			bare: []string{openedR, `tool_call pi-bridge_bridge_echo in_progress in={"arguments":{"text":"ping"}} out=`,
				`tool_call_update  completed in= out="Call bridge_echo"`, `text "ECHO:ping"`, end2},
			through: []string{openedR, `tool_call bridge_echo in_progress in={"text":"ping"} out=`,
				`tool_call_update  completed in= out="ECHO:ping"`, `text "ECHO:ping"`, end2},
		},
	}
}

const initialized = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`

// play sends the frames of a conversation and returns what came.
func (c conversation) play(t *testing.T, p *peer, bridgeURL string) []string {
	t.Helper()
	p.ask(initialized)
	p.seen = nil
	for _, f := range c.frames {
		p.ask(strings.ReplaceAll(f, "$BRIDGE", bridgeURL))
	}
	p.end()
	if strings.Contains(p.stderr.String(), "RAW WS MSG") {
		p.note("stderr has RAW WS MSG")
	}
	for i, line := range p.seen {
		p.seen[i] = strings.ReplaceAll(line, `{"CommandLine":"sleep 0s","Cwd":"/"}`, "$IN")
		if p.session != "" {
			p.seen[i] = strings.ReplaceAll(p.seen[i], p.session, "$S")
		}
	}
	return p.seen
}

func TestQuirks(t *testing.T) {
	b, err := bridge.Start(context.Background(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	for _, c := range conversations() {
		args := append([]string{"--build", c.build}, c.args...)
		t.Run(c.quirk+"/"+c.build+"/bare", func(t *testing.T) {
			if d := cmp.Diff(c.bare, c.play(t, bare(t, args...), b.URL)); d != "" {
				t.Errorf("the problem does not show (-want +got):\n%s", d)
			}
		})
		t.Run(c.quirk+"/"+c.build+"/through", func(t *testing.T) {
			var quirks []string
			if c.on {
				quirks = []string{c.quirk + "=on"}
			}
			if d := cmp.Diff(c.through, c.play(t, through(t, newRewriter(t, quirks...), nil, args...), b.URL)); d != "" {
				t.Errorf("through the shim (-want +got):\n%s", d)
			}
		})
		t.Run(c.quirk+"/"+c.build+"/off", func(t *testing.T) {
			// With the quirk off, and the oracle that would make up for it, the
			// shim is as bare as the agent.
			rw := newRewriter(t, append(c.also, c.quirk+"=off", "oracle=off")...)
			if d := cmp.Diff(c.bare, c.play(t, through(t, rw, nil, args...), b.URL)); d != "" {
				t.Errorf("through the shim with the quirk off (-want +got):\n%s", d)
			}
		})
	}
}

func TestEveryQuirkHasItsConversation(t *testing.T) {
	played := map[string]int{}
	for _, c := range conversations() {
		if len(c.bare) == 0 || len(c.through) == 0 || cmp.Equal(c.bare, c.through) {
			t.Errorf("%s: problem and solution must both be there, and differ", c.quirk)
		}
		played[c.quirk]++
	}
	for _, q := range Quirks() {
		// What is beside the frames needs the whole program: TestLoginPage has both.
		if played[q.Name] == 0 && q.Direction != Beside {
			t.Errorf("the quirk %s has no conversation", q.Name)
		}
		if q.Builds == "" || q.Wrong == "" || q.Does == "" || q.Direction == "" {
			t.Errorf("the row of %s is not complete", q.Name)
		}
		if !strings.Contains(QuirkTable(), "| `"+q.Name+"` | ") {
			t.Errorf("%s is not in the table for the README", q.Name)
		}
		delete(played, q.Name)
	}
	for name := range played {
		t.Errorf("there is a conversation for %s, which is no quirk", name)
	}
}

func TestProfileNoneChangesNothing(t *testing.T) {
	b, err := bridge.Start(context.Background(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	for _, c := range conversations() {
		if c.quirk == "noise" || c.quirk == "raw-ws" {
			continue // the policy and stderr; the frames are the same anyway
		}
		t.Run(c.quirk+"/"+c.build, func(t *testing.T) {
			rw := newRewriter(t)
			exe, argv := simCommand(t, append([]string{"--build", c.build}, c.args...))
			p := newPeer(t)
			p.run(proxy.Config{
				Options: proxy.Options{Chain: []proxy.Interceptor{rw}, Strict: true, Policy: func(result []byte) proxy.Policy { return rw.Policy("none", result) }},
				Start: func(gen int) (proxy.Process, error) {
					return proxy.Command(proxy.Spec{Path: exe, Args: argv, ExtraEnv: []string{simEnv}, Gen: gen})
				},
			})
			if d := cmp.Diff(c.bare, c.play(t, p, b.URL)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func newRewriter(t testing.TB, quirks ...string) *Rewriter {
	t.Helper()
	rw, err := New(Options{Quirks: quirks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rw.Close)
	return rw
}

func TestSwitches(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"leaked-cancle=off", "did you mean leaked-cancel?"},
		{"zzzzzzzzzzzzzzzzzzzzzz=on", "there is no quirk"},
		{"oracle", "oracle=on or oracle=off"},
		{"oracle=maybe", "oracle=on or oracle=off"},
	} {
		_, err := New(Options{Quirks: []string{x.in}})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q in it", x.in, err, x.want)
		}
	}
	rw := newRewriter(t, "tool-display=on", "oracle=off")
	if !rw.on["tool-display"] || rw.on["oracle"] || !rw.on["mode-id"] || rw.on["cumulative-resend"] {
		t.Errorf("switched on are %v", rw.on)
	}
}
