package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-shim/internal/trace"
	"acp-shim/record"
)

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}`

// found are the findings of a capture of these lines, each as a line.
func found(t *testing.T, lines ...string) (list []string) {
	t.Helper()
	text := header
	for i, l := range lines {
		text += fmt.Sprintf("\n{\"seq\":%d,\"t\":%d,%s}", i+1, i+1, l)
	}
	var report Report
	for r, err := range trace.Read(record.Read(strings.NewReader(text + "\n"))) {
		if err != nil {
			t.Fatal(err)
		}
		fs, err := Check(r)
		if err != nil {
			t.Fatal(err)
		}
		report.Add(fs)
	}
	for _, f := range report.Findings() {
		text := fmt.Sprintf("%d %s %s: %s", f.Seq, f.Who, f.Path, f.Says)
		if f.Warning {
			text = "warning " + text
		}
		if f.Mended {
			text += " (mended)"
		}
		if f.Count > 1 {
			text += fmt.Sprintf(" ×%d", f.Count)
		}
		list = append(list, text)
	}
	return list
}

func up(frame string) string   { return `"from":"client","to":"agent#1","frame":` + frame }
func down(frame string) string { return `"from":"agent#1","to":"client","frame":` + frame }
func update(u string) string {
	return down(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`)
}

// edited is a frame in which the shim has put one text for another.
func edited(frame, before, after string) string {
	return up(frame) + fmt.Sprintf(`,"edits":[{"at":%d,"old":%q,"new":%q}]`, strings.Index(frame, after), before, after)
}

func TestCheck(t *testing.T) {
	for _, row := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"all is well", []string{
			up(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi","_x":1}]}}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`),
			down(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","_meta":{"x":1},"more":2}}`),
			up(`{"jsonrpc":"2.0","method":"_mine/x","params":{}}`),
			down(`{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"no"}}`),
		}, nil},
		{"members", []string{
			up(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[{"type":"text"}]}}`),
			up(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":7,"prompt":[{"type":"text","text":"a"},{"type":"text","text":5},{"type":"text","text":6}]}}`),
			up(`{"jsonrpc":"2.0","id":3,"method":"initialize"}`),
		}, []string{
			"1 client params: sessionId is missing",
			"1 client params.prompt.0: text is missing",
			"2 client params.prompt.1.text: it is a number, and must be a string ×2",
			"2 client params.sessionId: it is a number, and must be a string",
			"3 client params: protocolVersion is missing",
		}},
		{"variants", []string{
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}`),
			update(`{"sessionUpdate":"weather","is":"fine"}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"paint","status":"pending"}`),
			update(`{"update":1}`),
		}, []string{
			"1 agent params.update.content: text is missing",
			"4 agent params.update: sessionUpdate is missing",
			`warning 2 agent params.update.sessionUpdate: "weather" is none of user_message_chunk, agent_message_chunk, agent_thought_chunk, tool_call, tool_call_update, plan, available_commands_update, current_mode_update, config_option_update, session_info_update`,
			`warning 3 agent params.update.kind: "paint" is none of read, edit, delete, move, search, execute, think, fetch, switch_mode, other`,
		}},
		{"servers", []string{
			up(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"type":"http","name":"a","url":"u","headers":{"k":"v"}},{"name":"b","command":"c","args":[],"env":[]},{"name":"c"}]}}`),
		}, []string{
			"1 client params.mcpServers.0.headers: it is an object, and must be an array",
			"1 client params.mcpServers.2: command, args, env are missing",
		}},
		{"answers", []string{
			up(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`),
			down(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","options":[],"toolCall":{"toolCallId":"t"}}}`),
			up(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected"}}}`),
			down(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"bored"}}`),
			down(`{"id":2,"result":{},"error":{"code":1.5}}`),
		}, []string{
			"3 client result.outcome: optionId is missing",
			`5 agent jsonrpc: jsonrpc is missing: it must be "2.0"`,
			"5 agent : it has both a result and an error",
			`warning 4 agent result.stopReason: "bored" is none of end_turn, max_tokens, max_turn_requests, refusal, cancelled`,
		}},
		{"methods", []string{
			up(`{"jsonrpc":"2.0","id":1,"method":"session/cancel","params":{"sessionId":"s"}}`),
			up(`{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`),
			down(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`),
			down(`{"jsonrpc":"2.0","method":"session/prompt","params":{}}`),
			up(`{"jsonrpc":"2.0","id":2,"method":"session/set_model","params":{}}`),
		}, []string{
			"1 client id: session/cancel is a notification",
			"2 client id: session/prompt is a request",
			"3 agent method: session/new is for the agent to carry out",
			"4 agent method: session/prompt is for the agent to carry out",
			"warning 5 client method: session/set_model is no method of ACP version 1",
		}},
		{"what the shim has changed", []string{
			edited(`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":"x"}}`, `"method"`, `"methodId"`),
			edited(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cwd":7}}`, `"/"`, `7`),
		}, []string{
			"1 client params: methodId is missing (mended)",
			"2 shim params.cwd: it is a number, and must be a null or string",
		}},
		{"no messages", []string{
			`"from":"agent#1","to":null,"text":"Opening in existing browser session.","why":"noise"`,
			`"from":"agent#1","to":"client","frame":[1]`,
		}, []string{
			"1 agent : a line that is no JSON",
			"warning 2 agent : ACP has no batches",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := cmp.Diff(row.want, found(t, row.lines...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
