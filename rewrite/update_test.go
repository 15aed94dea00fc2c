package rewrite

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

func chunkLine(text string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"content":{"text":` + wire.Quote(text) + `,"type":"text"},"sessionUpdate":"agent_message_chunk"}}}`
}

func updateLine(update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":` + update + `}}`
}

// playing is an agent whose every turn is the lines given, and then the result.
func playing(t testing.TB, end string, lines ...string) *scripted {
	return &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string {
		if f.Method == "session/prompt" {
			return strings.Join(append(append([]string(nil), lines...), f.result(end)), "\n")
		}
		return opens1(f)
	}}
}

// received plays one turn and returns the lines that the client got of it.
func received(t testing.TB, a *scripted, chain ...proxy.Interceptor) []string {
	t.Helper()
	p := a.inFront(chain...)
	p.ask(opened)
	p.send(promptLine(2, "go"))
	var got []string
	for {
		line := strings.TrimSuffix(p.line(), "\n")
		got = append(got, line)
		if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":2,`) {
			p.end()
			return got
		}
	}
}

const ended = `{"stopReason":"end_turn"}`

func TestLeakedCancel(t *testing.T) {
	const leak = "context canceledThe request was canceled by the client."
	for _, x := range []struct{ in, want string }{ // want "-" is dropped, "" as it is
		{leak, "-"},
		{"context cancelledThe request was cancelled by the client.", "-"},
		{"context canceledThe request was cancelled by the client.", "-"},
		{"Done.\n\"x\" " + leak, "Done.\n\"x\" "},
		{"The request was canceled by the client.", ""},
		{"context canceled", ""},
		{"Go says context canceled. The request was canceled by the client.", ""},
		{leak + " That is the message you asked about.", ""},
		{"\"" + leak + "\"", ""},
		{"Context canceledThe request was canceled by the client.", ""},
	} {
		in := chunkLine(x.in)
		want := []string{chunkLine(x.want)}
		switch x.want {
		case "-":
			want = []string{}
		case "":
			want = []string{in}
		}
		got := received(t, playing(t, `{"stopReason":"cancelled"}`, in), newRewriter(t))
		if d := cmp.Diff(want, got[:len(got)-1]); d != "" {
			t.Errorf("%q (-want +got):\n%s", x.in, strings.Join(got, "\n"))
		}
	}
	if got := received(t, playing(t, ended, chunkLine(leak)), newRewriter(t)); len(got) != 1 || !strings.Contains(got[0], `"failed":"blank"`) {
		t.Errorf("a turn of nothing but the leak is blank; got %q", got)
	}
	// The same words elsewhere in an update are a tool's output.
	tool := updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"content","content":{"type":"text","text":"agent_message_chunk ` + leak + `"}}]}`)
	thought := strings.Replace(chunkLine(leak), "agent_message_chunk", "agent_thought_chunk", 1)
	if got := received(t, playing(t, ended, tool, thought), newRewriter(t)); len(got) != 3 || got[0] != tool || got[1] != thought {
		t.Errorf("got %q", got)
	}
}

func TestFailedTurn(t *testing.T) {
	mark := func(failed, begins string) string {
		return `{"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"` + failed + `","text-begins":"` + begins + `"}}}`
	}
	const (
		toolCall = `{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}`
		usage    = `{"sessionUpdate":"usage_update","used":1,"size":2}`
		blankEnd = `{"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"blank"}}}`
	)
	long := strings.Repeat("and so on. ", 2000)
	for _, x := range []struct {
		name  string
		lines []string
		end   string
		want  string
	}{
		{"an agent error", []string{chunkLine("Agent execution error: no")}, ended, mark("agent-error", "Agent execution error: ")},
		{"split", []string{chunkLine("Agent exe"), chunkLine("cution error: no")}, ended, mark("agent-error", "Agent execution error: ")},
		{"after text", []string{chunkLine("Working on it."), chunkLine("Usage Limit Reached")}, ended, mark("usage-limit", "Usage Limit Reached")},
		{"after a tool", []string{chunkLine("Let me look."), updateLine(toolCall), chunkLine("The MCP serv"), chunkLine("er 'x' is gone")}, ended, mark("mcp", "The MCP server '")},
		{"before usage", []string{chunkLine("Browser automation could not start (no display)"), updateLine(usage)}, ended, mark("browser", "Browser automation could not start (")},
		{"the connection", []string{chunkLine("Agent connection was lost and could not be re-established: x")}, ended, mark("connection", "Agent connection was lost and could not be re-established: ")},
		{"nothing", nil, ended, blankEnd},
		{"only usage", []string{updateLine(usage)}, ended, blankEnd},
		{"only empty text", []string{chunkLine("")}, ended, blankEnd},
		{"a thought", []string{strings.Replace(chunkLine("hm"), "agent_message", "agent_thought", 1)}, ended, ended},
		{"a tool", []string{updateLine(toolCall)}, ended, ended},
		{"an image", []string{updateLine(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"image/png"}}`)}, ended, ended},
		{"an error that was worked around", []string{chunkLine("Agent execution error: no"), updateLine(toolCall), chunkLine("It works now.")}, ended, ended},
		{"words in the middle", []string{chunkLine("It said: Agent execution error: no")}, ended, ended},
		{"a long text that begins so", []string{chunkLine("Usage Limit Reached is a message. "), chunkLine(long)}, ended, ended},
		{"cancelled", nil, `{"stopReason":"cancelled"}`, `{"stopReason":"cancelled"}`},
		{"_meta is there", nil, `{"_meta":{"quota":1},"stopReason":"end_turn"}`, `{"_meta":{"quota":1,"acp-shim":{"failed":"blank"}},"stopReason":"end_turn"}`},
		{"_meta is null", nil, `{"_meta":null,"stopReason":"end_turn"}`, `{"_meta":{"acp-shim":{"failed":"blank"}},"stopReason":"end_turn"}`},
		{"_meta has the mark", nil, `{"_meta":{"acp-shim":1},"stopReason":"end_turn"}`, `{"_meta":{"acp-shim":1},"stopReason":"end_turn"}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := received(t, playing(t, x.end, x.lines...), newRewriter(t))
			want := append(append([]string(nil), x.lines...), `{"jsonrpc":"2.0","id":2,"result":`+x.want+`}`)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What a turn was like must not be held against the next one.
func TestTurnsAreToldApart(t *testing.T) {
	n := 0
	a := &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string {
		if f.Method != "session/prompt" {
			return opens1(f)
		}
		if n++; n == 1 {
			return chunkLine("Agent execution error: no") + "\n" + f.result(ended)
		}
		return f.result(ended)
	}}
	rw := newRewriter(t)
	p := a.inFront(rw)
	p.ask(opened)
	p.ask(promptLine(2, "a"))
	p.ask(promptLine(3, "b"))
	p.end()
	if got := p.seen[len(p.seen)-1]; got != `3 result {"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"blank"}}}` {
		t.Errorf("the second turn ended %s", got)
	}
	if len(rw.turns) != 0 {
		t.Errorf("%d turns are still held", len(rw.turns))
	}
}

func TestPermissionOrder(t *testing.T) {
	ask := func(options string) string {
		return `{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s1","options":[` + options + `]}}`
	}
	const always, once, deny = `{"optionId":"A","kind":"allow_always"}`, `{ "kind":"allow_once", "optionId":1 }`, `{"kind":"reject_once"}`
	for _, x := range []struct{ in, want string }{
		{always + " , " + once + "," + deny, once + " , " + always + "," + deny},
		{deny + "," + always + "," + always + "," + deny + "," + once, deny + "," + once + "," + always + "," + deny + "," + always},
		{once + "," + always, once + "," + always},
		{always + "," + deny, always + "," + deny},
		{`1,null,` + always + `,` + once, `1,null,` + once + `,` + always},
	} {
		m := parse(ask(x.in))
		permissionOrder(nil, nil, m)
		if string(m.Raw) != ask(x.want) {
			t.Errorf("got %s\nwant %s", m.Raw, ask(x.want))
		}
		if string(wire.Undo(m.Raw, m.Edits())) != ask(x.in) {
			t.Errorf("%s cannot be undone", m.Raw)
		}
	}
}

func TestCumulativeResend(t *testing.T) {
	const a, b = "Every word of it", " twice"
	for _, x := range []struct {
		name     string
		in, want []string
	}{
		{"all so far and more", []string{a, a + b, a + b + "!"}, []string{a, b, "!"}},
		{"escapes", []string{"\"Every\"\n", "\"Every\"\nword\n"}, []string{"\"Every\"\n", "word\n"}},
		{"deltas", []string{"one ", "two ", "three "}, []string{"one ", "two ", "three "}},
		{"the same again", []string{a, a}, []string{a, a}},
		{"something short", []string{"ha", "haha", "hahaha"}, []string{"ha", "haha", "hahaha"}},
		{"a line drawn", []string{"--------------", "---------------------"}, []string{"--------------", "---------------------"}},
		{"only a part of it", []string{a, b, b + "x"}, []string{a, b, b + "x"}},
		{"a second message", []string{a, "$TOOL", "Another message", "Another message grows"}, []string{a, "$TOOL", "Another message", " grows"}},
		{"too long to keep", []string{strings.Repeat(a, 70_000), a}, []string{strings.Repeat(a, 70_000), a}},
	} {
		t.Run(x.name, func(t *testing.T) {
			lines := func(list []string) (all []string) {
				for _, text := range list {
					if text == "$TOOL" {
						all = append(all, updateLine(`{"sessionUpdate":"tool_call","toolCallId":"t"}`))
					} else {
						all = append(all, chunkLine(text))
					}
				}
				return
			}
			got := received(t, playing(t, ended, lines(x.in)...), newRewriter(t, "cumulative-resend=on"))
			if d := cmp.Diff(lines(x.want), got[:len(got)-1]); d != "" {
				t.Errorf("(-want +got):\n%.2000s", d)
			}
			off := received(t, playing(t, ended, lines(x.in)...), newRewriter(t))
			if d := cmp.Diff(lines(x.in), off[:len(off)-1]); d != "" {
				t.Errorf("it is off by default (-want +got):\n%.2000s", d)
			}
		})
	}
}

func TestToolDisplay(t *testing.T) {
	const meta = `"_meta":{"mcp":{"server":"srv","tool":"look"}}`
	const content = `"content":[{"type":"content","content":{"type":"text","text":"two\nlines"}}]`
	for _, x := range []struct{ in, want string }{
		{`{"sessionUpdate":"tool_call","toolCallId":"t","title":"srv_look","rawInput":{"arguments": {"a":1} },` + meta + `}`,
			`{"sessionUpdate":"tool_call","toolCallId":"t","title":"look","rawInput":{"a":1},` + meta + `}`},
		{`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run it?","rawInput":{"arguments":{"a":1},"more":2}}`, ""},
		{`{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{"arguments":"a"}}`, ""},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":"Call look",` + content + `,` + meta + `}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":"two\nlines",` + content + `,` + meta + `}`},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"T","rawOutput":"T",` + content + `}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"T","rawOutput":"two\nlines",` + content + `}`},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":"a result of its own",` + content + `,` + meta + `}`, ""},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"T","rawOutput":"T"}`, ""},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"T","rawOutput":{"a":"T"},` + content + `}`, ""},
		{`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\"toolCallId\""},"rawInput":{"arguments":{}}}`, ""},
	} {
		if x.want == "" {
			x.want = x.in
		}
		m := parse(updateLine(x.in))
		toolDisplay(newRewriter(t), &proxy.Step{}, m)
		if string(m.Raw) != updateLine(x.want) {
			t.Errorf("got  %s\nwant %s", m.Raw, updateLine(x.want))
		}
	}
	// An update knows its title from the call.
	first := updateLine(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run run_command?"}`)
	second := updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":"run_command",` + content + `}`)
	got := received(t, playing(t, ended, first, second), newRewriter(t, "tool-display=on"))
	if want := strings.Replace(second, `"run_command"`, `"two\nlines"`, 1); got[1] != want {
		t.Errorf("got  %s\nwant %s", got[1], want)
	}
}

// inside runs a test in the place of the rewriter, with the step of a real
// conversation, at the first chunk that passes.
type inside struct {
	*Rewriter
	once sync.Once
	test func(s *proxy.Step, m *proxy.Message)
}

func (x *inside) FromAgent(s *proxy.Step, m *proxy.Message) {
	if m.Method == methodUpdate {
		x.once.Do(func() { x.test(s, m) })
	}
	x.Rewriter.FromAgent(s, m)
}

func TestAPlainChunkCostsNoAllocation(t *testing.T) {
	for _, lines := range [][]string{
		{chunkLine("some words of an answer, ")},
		{chunkLine(strings.Repeat("line\n\"quoted\" ", 1000))},
		{updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress"}`)},
	} {
		x := &inside{Rewriter: newRewriter(t)}
		x.test = func(s *proxy.Step, m *proxy.Message) {
			if x.turn(s) == nil {
				t.Error("no turn is followed")
			}
			if n := testing.AllocsPerRun(1000, func() { x.Rewriter.FromAgent(s, m) }); n != 0 {
				t.Errorf("%v allocations for %.80s", n, m.Raw)
			}
		}
		received(t, playing(t, ended, lines...), x)
	}
}

// TestNothingIsKeptOfAFrame once the next one comes: it may have been of 20 MiB.
func TestNothingIsKeptOfAFrame(t *testing.T) {
	rw := newRewriter(t)
	received(t, playing(t, ended, chunkLine("text")), rw)
	if rw.seen.text != nil || len(rw.seen.bytes) > len(ended) {
		t.Errorf("the look at the frame before is there still: %q", rw.seen.text)
	}
}

func BenchmarkPlainChunk(b *testing.B) {
	for _, size := range []int{20, 200, 20_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			rw := newRewriter(b)
			x := &inside{Rewriter: rw}
			x.test = func(s *proxy.Step, m *proxy.Message) {
				b.ReportAllocs()
				for b.Loop() {
					rw.FromAgent(s, m)
				}
			}
			received(b, playing(b, ended, chunkLine(strings.Repeat("word ", size/5))), x)
		})
	}
}

// TestLooksByForm has what is known of a form no other than what a look finds.
func TestLooksByForm(t *testing.T) {
	rw := newRewriter(t)
	p, m := &wire.Parser{}, &proxy.Message{}
	for _, frame := range []string{
		`{"method":"session/update","params":{"sessionId":"s","update":{"content":{"text":"%s","type":"text"},"sessionUpdate":"agent_message_chunk"}}}`,
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_thought_chunk","content":{"text":"%s","type":"text"}}}}`,
		`{"method":"session/update","params":{"sessionId":"s","update":{"_meta":{"text":"%s"},"content":{"text":"fixed"},"sessionUpdate":"agent_message_chunk"}}}`,
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","content":[{"content":{"text":"%s"}}]}}}`,
		`{"method":"session/update","params":{"text":"%s","sessionId":"s","update":{"content":{},"sessionUpdate":"agent_message_chunk"}}}`,
	} {
		for _, text := range []string{"", "one", "two", `a \"b\"`, ""} {
			p.Parse(m, fmt.Appendf(nil, frame+"\n", text))
			rw.seen = look{}
			if got, want := rw.look(m), lookAt(m); got.kind != want.kind || string(got.text) != string(want.text) || (got.text == nil) != (want.text == nil) {
				t.Errorf("%s: %d %q, and a look finds %d %q", m.Raw, got.kind, got.text, want.kind, want.text)
			}
		}
	}
}
