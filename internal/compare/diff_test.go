package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-shim/internal/trace"
	"acp-shim/record"
)

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}`

// shape is that of a capture of these lines, which come a millisecond after each
// other but for those that begin with a number of milliseconds.
func shape(t *testing.T, lines ...string) *Shape {
	t.Helper()
	text, at := header, 0
	for i, l := range lines {
		at++
		if later := 0; strings.HasPrefix(l, "+") {
			fmt.Sscanf(l, "+%d", &later)
			at += later
			_, l, _ = strings.Cut(l, " ")
		}
		text += fmt.Sprintf("\n{\"seq\":%d,\"t\":%d,%s}", i+1, at*1_000_000, l)
	}
	s := NewShape()
	for r, err := range trace.Read(record.Read(strings.NewReader(text + "\n"))) {
		if err != nil {
			t.Fatal(err)
		}
		s.Add(r)
	}
	return s
}

func up(frame string) string   { return `"from":"client","to":"agent#1","frame":` + frame }
func down(frame string) string { return `"from":"agent#1","to":"client","frame":` + frame }
func update(kind, more string) string {
	return down(`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"` + kind + `"` + more + `}}}`)
}

func texts(sections []Section) (list []string) {
	for _, s := range sections {
		for _, l := range s.Lines {
			list = append(list, s.Title+": "+l.Mark+" "+l.Text)
		}
	}
	return list
}

func conversation(version, id, chunk string, more ...string) []string {
	return append([]string{
		up(`{"id":0,"method":"initialize","params":{"protocolVersion":1}}`),
		down(`{"id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"` + version + `"},"agentCapabilities":{"loadSession":true}}}`),
		up(`{"id":` + id + `,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"` + chunk + `"}]}}`),
		update("agent_message_chunk", `,"content":{"type":"text","text":"`+chunk+`"}`),
	}, more...)
}

// TestAlike has what always differs: ids, texts, how many chunks a text has.
func TestAlike(t *testing.T) {
	end := func(id string) string { return down(`{"id":` + id + `,"result":{"stopReason":"end_turn"}}`) }
	a := shape(t, conversation("1", "1", "x", end("1"))...)
	b := shape(t, conversation("1", `"b"`, "another", update("agent_message_chunk", `,"content":{"type":"text","text":"more"}`), end(`"b"`))...)
	if got := texts(Diff(a, b, Options{Timing: true})); got != nil {
		t.Errorf("they differ by %q", got)
	}
}

func TestDiff(t *testing.T) {
	a := shape(t, conversation("1", "1", "x",
		update("tool_call", `,"toolCallId":"t","title":"x","kind":"read","status":"pending","rawInput":{"a":1}`),
		down(`{"id":1,"result":{"stopReason":"end_turn"}}`),
		up(`{"id":2,"method":"session/set_mode","params":{"sessionId":"s","modeId":"m"}}`),
		down(`{"id":2,"result":{}}`))...)
	b := shape(t, conversation("2", "1", "x",
		update("tool_call", `,"toolCallId":7,"title":"x","kind":"edit","status":"pending","rawInput":{"b":1},"locations":[{"path":"/x"}]`),
		update("usage_update", `,"used":5`),
		"+500 "+down(`{"id":1,"result":{"stopReason":"end_turn"}}`),
		up(`{"id":3,"method":"session/list","params":{}}`),
		up(`{"id":2,"method":"session/set_mode","params":{"sessionId":"s","modeId":"m"}}`),
		down(`{"id":2,"error":{"code":-32603,"message":"no"}}`))...)
	want := []string{
		`the agent and what it offers: ~ agentInfo.version: "1" → "2"`,
		"agent sends: + session/update usage_update",
		"client sends: + session/list",
		"errors of session/set_mode: + -32603",
		"tool kind: + edit", "tool kind: - read",
		"members: agent session/update tool_call: + update.locations: list",
		"members: agent session/update tool_call: ~ update.toolCallId: string → number",
		"order of the client's requests: + session/list, behind session/prompt",
		"updates of turn 1: + usage_update, behind tool_call",
		"usage: + tokens are reported",
		"median times: ~ session/prompt: 3ms → 504ms",
	}
	if d := cmp.Diff(want, texts(Diff(a, b, Options{Timing: true}))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, s := range Diff(a, b, Options{}) {
		if s.Title == "median times" {
			t.Error("times are compared")
		}
	}
}

func TestAlign(t *testing.T) {
	for _, row := range []struct{ a, b, want string }{
		{"a b c", "a b c", ""},
		{"a b c", "a x b c", "+ x, behind a"},
		{"a b c", "a c", "- b, behind a"},
		{"", "a b", "+ a, b, behind the beginning"},
		{"a b c d", "a c b d", "- b, behind a; + b, behind c"},
	} {
		var got []string
		for _, l := range align(strings.Fields(row.a), strings.Fields(row.b)) {
			got = append(got, l.Mark+" "+l.Text)
		}
		if text := strings.Join(got, "; "); text != row.want {
			t.Errorf("%q, %q: %q, want %q", row.a, row.b, text, row.want)
		}
	}
	long := strings.Fields(strings.Repeat("a b ", 3_000))
	if got := align(long, append([]string{"c"}, strings.Fields(strings.Repeat("b a ", 3_000))...)); len(got) == 0 || len(got) > 1 {
		t.Errorf("%d lines for two long orders", len(got))
	}
}
