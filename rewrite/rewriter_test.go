package rewrite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

func parse(line string) *proxy.Message {
	m := &proxy.Message{}
	m.Parse([]byte(line))
	return m
}

func result(text string) gjson.Result { return gjson.Parse(text) }

// apply gives a frame of the client's to a rewriter outside of any conversation,
// as one of a session that nobody knows.
func applyDown(rw *Rewriter, m *proxy.Message) {
	for _, f := range rw.down[m.Method] {
		f(rw, &proxy.Step{}, m)
	}
}

// TestRewritesTouchOnlyTheirBytes compares frames with what they should be byte
// by byte, spaces and all.
func TestRewritesTouchOnlyTheirBytes(t *testing.T) {
	for _, x := range []struct{ name, in, want string }{
		{"spaces and order stay", `{ "params" : { "method" : "x" , "z":1.0 } , "id":1,"method":"authenticate"}`,
			`{ "params" : { "methodId" : "x" , "z":1.0 } , "id":1,"method":"authenticate"}`},
		{"both names are there", `{"id":1,"method":"authenticate","params":{"method":"x","methodId":"y"}}`, ""},
		{"the name is given twice", `{"id":1,"method":"authenticate","params":{"method":"x","method":"y"}}`, ""},
		{"params given twice", `{"id":1,"method":"authenticate","params":{"method":"x"},"params":{"method":"x"}}`, ""},
		{"params no object", `{"id":1,"method":"authenticate","params":["method"]}`, ""},
		{"no params", `{"id":1,"method":"authenticate"}`, ""},
		{"an escaped name", `{"id":1,"method":"session/set_mode","params":{"m\u006fde":"yolo"}}`, `{"id":1,"method":"session/set_mode","params":{"modeId":"yolo"}}`},
		{"missing servers", `{"id":1,"method":"session/new","params":{}}`, `{"id":1,"method":"session/new","params":{"mcpServers":[]}}`},
		{"null servers", `{"id":1,"method":"session/load","params":{"mcpServers": null }}`, `{"id":1,"method":"session/load","params":{"mcpServers": [] }}`},
		{"servers no list", `{"id":1,"method":"session/new","params":{"mcpServers":{"a":{"url":"u"}}}}`, ""},
		{"servers given twice", `{"id":1,"method":"session/new","params":{"mcpServers":[{"url":"u"}],"mcpServers":[]}}`, ""},
		{"entries that are no objects", `{"id":1,"method":"session/new","params":{"mcpServers":[1,null,"x",[{}]]}}`, ""},
		{"type acp and unknown types", `{"id":1,"method":"session/new","params":{"mcpServers":[{"type":"acp","id":"i","name":"n"},{"type":"ws","url":"u","headers":{"a":"b"}}]}}`, ""},
		{"type from url", `{"id":1,"method":"session/new","params":{"mcpServers":[{"name":"n","url":"http://h/sse?x=1","headers":[]},{"url":"http://h/ssex","headers":[]}]}}`,
			`{"id":1,"method":"session/new","params":{"mcpServers":[{"name":"n","url":"http://h/sse?x=1","headers":[],"type":"sse"},{"url":"http://h/ssex","headers":[],"type":"http"}]}}`},
		{"a type that is null", `{"id":1,"method":"session/new","params":{"mcpServers":[{"type":null,"url":"http://h/","headers":[]}]}}`,
			`{"id":1,"method":"session/new","params":{"mcpServers":[{"type":"http","url":"http://h/","headers":[]}]}}`},
		{"maps to lists", `{"id":1,"method":"session/resume","params":{"mcpServers":[{"type":"http","headers": {"\u0061":"1", "b" : "x\"y"} }]}}`,
			`{"id":1,"method":"session/resume","params":{"mcpServers":[{"type":"http","headers": [{"name":"\u0061","value":"1"},{"name":"b","value":"x\"y"}] }]}}`},
		{"a map with a name twice", `{"id":1,"method":"session/new","params":{"mcpServers":[{"type":"http","headers":{"a":"1","a":"2"}}]}}`, ""},
		{"a map with a list in it", `{"id":1,"method":"session/new","params":{"mcpServers":[{"type":"http","headers":{"a":["1"]}}]}}`, ""},
		{"an explicit stdio", `{"id":1,"method":"session/fork","params":{"mcpServers":[{"type":"stdio","command":"c","args":null}]}}`,
			`{"id":1,"method":"session/fork","params":{"mcpServers":[{"type":"stdio","command":"c","args":[],"env":[]}]}}`},
		{"dots", `{"id":1,"method":"session/new","params":{"mcpServers":[{"name":"a.b","type":"acp"},{"name":"a-b","type":"acp"},{"name":"a-b-2","type":"acp"},{"name":"a.b","type":"acp"}]}}`,
			`{"id":1,"method":"session/new","params":{"mcpServers":[{"name":"a-b-3","type":"acp"},{"name":"a-b","type":"acp"},{"name":"a-b-2","type":"acp"},{"name":"a-b-4","type":"acp"}]}}`},
		{"a mode of other agents", `{"id":1,"method":"session/set_mode","params":{"modeId" : "dangerously-skip-permissions"}}`, `{"id":1,"method":"session/set_mode","params":{"modeId" : "yolo"}}`},
		{"an unknown mode", `{"id":1,"method":"session/set_mode","params":{"modeId":"turbo"}}`, ""},
		{"a mode that is no string", `{"id":1,"method":"session/set_mode","params":{"modeId":["acceptEdits"]}}`, ""},
		{"another option with such a value", `{"id":1,"method":"session/set_config_option","params":{"configId":"model","value":"acceptEdits"}}`, ""},
		{"the line end stays", "{\"id\":1,\"method\":\"session/new\",\"params\":{}}\r\n", "{\"id\":1,\"method\":\"session/new\",\"params\":{\"mcpServers\":[]}}\r\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.want == "" {
				x.want = x.in
			}
			rw := newRewriter(t)
			m := parse(x.in)
			applyDown(rw, m)
			if got := string(m.Raw); got != x.want {
				t.Fatalf("got  %s\nwant %s", got, x.want)
			}
			if got := string(wire.Undo(m.Raw, m.Edits())); got != x.in {
				t.Errorf("undone it is %s", got)
			}
			again := parse(x.want)
			applyDown(rw, again)
			if got := string(again.Raw); got != x.want {
				t.Errorf("a second time makes it %s", got)
			}
		})
	}
}

// The modes that the agent lists are its own: they are never mapped, and never
// refused.
func TestOwnModesPass(t *testing.T) {
	a := &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string {
		if f.Method == "session/new" {
			return f.result(`{"sessionId":"s1","modes":{"currentModeId":"plan","availableModes":[{"id":"plan"},{"id":"acceptEdits"}]}}`)
		}
		return f.result("{}")
	}}
	p := a.inFront(newRewriter(t))
	p.ask(opened)
	for _, mode := range []string{"plan", "acceptEdits", "read-only"} {
		p.ask(`{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"` + mode + `"}}`)
	}
	want := []string{"1 result with sessionId, modes", "2 result {}", "2 result {}",
		`2 error -32602 acp-shim: this agent has no review-only mode like "read-only", and none that writes was taken in its place; its modes are plan, acceptEdits`}
	if d := cmp.Diff(want, p.seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, f := range a.sent() {
		if strings.Contains(f, "auto_edit") || strings.Contains(f, "read-only") {
			t.Errorf("the agent got %s", f)
		}
	}
}

// A build that nobody has listed says -32601 to set_model once.
func TestSetModelIsLearned(t *testing.T) {
	a := &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string {
		switch f.Method {
		case "session/set_model":
			return `{"jsonrpc":"2.0","id":` + string(f.ID) + `,"error":{"code":-32601,"message":"Method not found","data":null}}`
		case "session/set_config_option":
			return f.result(`{"configOptions":[]}`)
		}
		return opens1(f)
	}}
	p := a.inFront(newRewriter(t))
	p.ask(opened)
	p.ask(`{"jsonrpc":"2.0","id":"a","method":"session/set_model","params":{"sessionId":"s1","modelId":"m"}}`)
	p.ask(`{"jsonrpc":"2.0","id":"b","method":"session/set_model","params":{"modelId":"n","sessionId":"s1"}}`)
	if d := cmp.Diff([]string{"1 result with sessionId", `"a" result {}`, `"b" result {}`}, p.seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := []string{
		`{"jsonrpc":"2.0","id":"a","method":"session/set_model","params":{"sessionId":"s1","modelId":"m"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"session/set_config_option","params":{"sessionId":"s1","value":"m","configId":"model"}}`,
		`{"jsonrpc":"2.0","id":"b","method":"session/set_config_option","params":{"value":"n","sessionId":"s1","configId":"model"}}`,
	}
	if d := cmp.Diff(want, a.sent()[1:]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPolicyFor(t *testing.T) {
	other := []byte(`{"agentInfo":{"name":"gemini-cli","version":"1"}}`)
	agy := []byte(agyInfo("1.3.0", ""))
	for _, x := range []struct {
		profile string
		result  []byte
		want    bool
	}{
		{"auto", agy, true}, {"", agy, true}, {"auto", other, false}, {"agy", other, true}, {"none", agy, false}, {"auto", nil, false}, {"auto", []byte("{"), false},
	} {
		p, is := PolicyFor(x.profile, x.result)
		if is != x.want || p.Exclusive != x.want || p.Close != x.want || p.DropNoise != x.want || (p.RepeatAuth != nil) != x.want {
			t.Errorf("%s of %s: %v %+v", x.profile, x.result, is, p)
		}
		if is && (p.RepeatAuth("oauth-personal") || !p.RepeatAuth("gemini-api-key")) {
			t.Error("only what needs no browser may be repeated")
		}
	}
	rw := newRewriter(t, "noise=off", "raw-ws=off")
	if p := rw.Policy("auto", agy); p.DropNoise || !p.Exclusive || !rw.agy.Load() {
		t.Errorf("with the noise quirk off: %+v", p)
	}
	if rw.Noise([]byte("RAW WS MSG: x")) {
		t.Error("raw-ws is off")
	}
	for path, want := range map[string]bool{"/x/agy_acp_server.par": true, "agy_acp_server": true, "/agy_acp_server/gemini": false, "": false} {
		if GuessAgy("auto", path) != want {
			t.Errorf("%q is guessed wrongly", path)
		}
	}
}

func TestStderrNoise(t *testing.T) {
	for line, want := range map[string]bool{
		"RAW WS MSG: {}\n": true, "RAW WS MSG:": true, "RAW WS MS": false, "I0101 RAW WS MSG:\n": false, "": false, "\n": false,
	} {
		if StderrNoise([]byte(line)) != want {
			t.Errorf("%q", line)
		}
	}
}
