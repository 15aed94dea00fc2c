package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-shim/fixtures/bridge"
	"acp-shim/proxy"
)

func newInjector(t testing.TB, opt InjectOptions) *Injector {
	t.Helper()
	if opt.Getenv == nil {
		opt.Getenv = func(name string) string { return map[string]string{"TOKEN": "secret", "HOME": "/nowhere"}[name] }
	}
	in, err := NewInjector(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in
}

// The bridge is there for the agent's tools through the shim, and only there.
func TestBridgeIsInjected(t *testing.T) {
	b, err := bridge.Start(context.Background(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	const call = `mcp pi-bridge bridge_echo {"text":"over the bridge"}`
	said := func(p *peer) string {
		p.ask(initialized)
		p.ask(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`)
		if p.session == "" {
			return p.seen[len(p.seen)-1]
		}
		p.ask(promptLine(2, call))
		p.end()
		return p.seen[len(p.seen)-2]
	}
	if got := said(bare(t, "--build", "rc01")); got != "1 error -32602 mcpServers: field required" {
		t.Errorf("the bare agent: %s", got)
	}
	in := newInjector(t, InjectOptions{Bridge: b.URL, BridgeToken: "env:TOKEN"})
	if got := said(through(t, newRewriter(t), []proxy.Interceptor{in}, "--build", "rc01")); got != `text "ECHO:over the bridge"` {
		t.Errorf("through the shim: %s", got)
	}
	wrong := newInjector(t, InjectOptions{Bridge: b.URL, BridgeToken: "wrong"})
	if got := said(through(t, newRewriter(t), []proxy.Interceptor{wrong}, "--build", "rc01")); !strings.HasPrefix(got, `text "The MCP server 'pi-bridge' could not be reached`) {
		t.Errorf("with a wrong token: %s", got)
	}
	if calls := b.Calls(); len(calls) != 1 || calls[0].Text != "over the bridge" {
		t.Errorf("the bridge was called %v", calls)
	}
}

const (
	bridgeEntry = `{"type":"http","name":"pi-bridge","url":"http://h:1/x?a=1&b=<2>","headers":[{"name":"x-bridge-token","value":"secret"}]}`
	localEntry  = `{"name":"local","command":"run it","args":["-a","b c"],"env":[]}`
)

func TestInjection(t *testing.T) {
	opt := InjectOptions{Bridge: "http://h:1/x?a=1&b=<2>", BridgeToken: "env:TOKEN", MCPStdio: []string{`local='run it' -a "b c"`}}
	both := bridgeEntry + "," + localEntry
	mine := `{"name":"pi-bridge","type":"http","url":"http://mine/","headers":[]}`
	for _, x := range []struct {
		name, in string
		override bool
		want     string
	}{
		{"an empty list", `{"cwd":"/","mcpServers":[ ]}`, false, `{"cwd":"/","mcpServers":[` + both + ` ]}`},
		{"no list", `{"cwd":"/"}`, false, `{"cwd":"/","mcpServers":[` + both + `]}`},
		{"nothing", `{ }`, false, `{"mcpServers":[` + both + `] }`},
		{"null", `{"mcpServers":null,"cwd":"/"}`, false, `{"mcpServers":[` + both + `],"cwd":"/"}`},
		{"after the client's", `{"mcpServers":[{"name":"x"} , 7 ]}`, false, `{"mcpServers":[{"name":"x"} , 7,` + both + ` ]}`},
		{"the client's wins", `{"mcpServers":[` + mine + `]}`, false, `{"mcpServers":[` + mine + `,` + localEntry + `]}`},
		{"unless it is overridden", `{"mcpServers":[` + mine + `,{"name":"x"}]}`, true, `{"mcpServers":[` + bridgeEntry + `,{"name":"x"},` + localEntry + `]}`},
		{"overridden, and there twice", `{"mcpServers":[` + mine + ` , ` + mine + `, {"name":"x"},` + mine + `]}`, true, `{"mcpServers":[` + bridgeEntry + `, {"name":"x"},` + localEntry + `]}`},
		{"a map", `{"mcpServers":{"a":{}}}`, false, ""},
		{"given twice", `{"mcpServers":[],"mcpServers":[]}`, false, ""},
		{"params that are a list", `[]`, false, ""},
	} {
		for _, method := range opening {
			opt.Override = x.override
			line := `{"id":1,"method":"` + method + `","params":`
			m := parse(line + x.in + "}")
			want := x.want
			if want == "" {
				want = x.in
			}
			in := newInjector(t, opt)
			if x.want == "" {
				// It says so in the log, for which it takes a conversation.
				p := (&scripted{t: t, info: agyInfo("9.9", offersHTTP), reply: func(_ *scripted, f request) string {
					if got := string(f.Params); f.Method == method && got != want {
						t.Errorf("%s, %s: got %s", x.name, method, got)
					}
					return f.result(`{}`)
				}}).inFront(in)
				p.ask(line + x.in + "}")
				p.end()
				continue
			}
			in.FromClient(&proxy.Step{}, m)
			if string(m.Raw) != line+want+"}" {
				t.Errorf("%s, %s: got %s\nwant %s", x.name, method, m.Raw, line+want+"}")
			}
			again := parse(string(m.Raw))
			in.FromClient(&proxy.Step{}, again)
			if string(again.Raw) != string(m.Raw) {
				t.Errorf("%s: a second time makes it %s", x.name, again.Raw)
			}
		}
	}
	m := parse(`{"id":1,"method":"session/prompt","params":{}}`)
	if newInjector(t, opt).FromClient(&proxy.Step{}, m); len(m.Edits()) != 0 {
		t.Errorf("a prompt became %s", m.Raw)
	}
}

// An agent that offers no http would leave the server out in silence, or fail
// later: the request is answered with the name of it, and the session is not
// stuck by that.
func TestHTTPThatIsNotOffered(t *testing.T) {
	a := &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string { return opens1(f) }}
	in := newInjector(t, InjectOptions{MCP: []string{"far=https://h/"}})
	p := a.inFront(in, newRewriter(t))
	refusal := ` error -32602 acp-shim: the injected MCP server "far" is reached over http, and this agent offers no mcpCapabilities.http; leave it out, or give one that the agent starts with --mcp-stdio`
	load := `{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s9","cwd":"/","mcpServers":[]}}`
	p.ask(opened)
	p.ask(load)
	p.ask(load)
	if d := cmp.Diff([]string{"1" + refusal, "3" + refusal, "3" + refusal}, p.seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := a.sent(); len(got) != 0 {
		t.Errorf("the agent got %q", got)
	}
	none := []server{}
	in.servers.Store(&none)
	p.seen = nil
	p.ask(load)
	p.ask(opened)
	if d := cmp.Diff([]string{"3 result {}", "1 result with sessionId"}, p.seen); d != "" {
		t.Errorf("with the server gone (-want +got):\n%s", d)
	}
}

// A session that comes back in another process gets what is injected then; what
// the agent does not offer is left out, since nobody could be told.
func TestInjectedAtARestore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	write(t, file, `{"mcpServers":{"one":{"command":"c1"}}}`)
	used := make(chan error, 8)
	in := newInjector(t, InjectOptions{MCPConfig: file, Changed: func() { used <- nil }})
	in.Watch(func(err error) { used <- err })
	a := &scripted{t: t, info: agyInfo("9.9", "")}
	a.reply = func(a *scripted, f request) string {
		if f.Method == "session/prompt" {
			return f.result(ended)
		}
		return opens1(f)
	}
	p := a.inFront(in, newRewriter(t))
	p.ask(opened)
	p.ask(promptLine(2, "a"))
	write(t, file, `{"mcpServers":{"two":{"command":"c2"},"far":{"url":"http://h/"}}} // new`)
	if err := receive(t, used); err != nil {
		t.Fatal(err)
	}
	a.run(0).quit()
	receive(t, a.exits)
	p.ask(promptLine(3, "b"))
	var params []string
	for _, line := range a.sent() {
		var f request
		if json.Unmarshal([]byte(line), &f); opensSession(f.Method) {
			params = append(params, string(f.Params))
		}
	}
	want := []string{
		`{"cwd":"/","mcpServers":[{"name":"one","command":"c1","args":[],"env":[]}]}`,
		`{"cwd":"/","mcpServers":[{"name":"two","command":"c2","args":[],"env":[]}],"sessionId":"s1"}`,
	}
	if d := cmp.Diff(want, params); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if p.seen[len(p.seen)-1] != `3 result {"stopReason":"end_turn","_meta":{"acp-shim":{"failed":"blank"}}}` {
		t.Errorf("the client got %q", p.seen)
	}
}

func receive[T any](t testing.TB, c chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing was reported")
		panic("unreachable")
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestInjectSettings(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	write(t, token, "from the file\r\n")
	write(t, filepath.Join(dir, "two"), "a\nb\n")
	write(t, filepath.Join(dir, "empty"), "\n")
	in := newInjector(t, InjectOptions{
		MCP:        []string{"a=https://h/p=1", "b=http://h/sse"},
		MCPHeaders: []string{"a:X-One=file:" + token, "a:x-one=env:TOKEN", "a:Y==z", "b:K=file:" + token},
	})
	var got []string
	for _, s := range *in.servers.Load() {
		got = append(got, s.text)
	}
	want := []string{
		`{"type":"http","name":"a","url":"https://h/p=1","headers":[{"name":"X-One","value":"secret"},{"name":"Y","value":"=z"}]}`,
		`{"type":"sse","name":"b","url":"http://h/sse","headers":[{"name":"K","value":"from the file"}]}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"a", "b"}, in.Names()); d != "" {
		t.Errorf("names: %s", d)
	}

	for _, x := range []struct {
		opt  InjectOptions
		want string
	}{
		{InjectOptions{Bridge: "not a url hunter2"}, "--bridge: its url"},
		{InjectOptions{BridgeToken: "hunter2"}, "without --bridge"},
		{InjectOptions{Bridge: "http://h", BridgeToken: "env:NOPE"}, "--bridge-token: the variable NOPE is not set"},
		{InjectOptions{Bridge: "http://h", BridgeToken: "file:/no/such"}, "--bridge-token: reading the value"},
		{InjectOptions{Bridge: "http://h", BridgeToken: "hunter2\n"}, "--bridge-token: the value has a line end"},
		{InjectOptions{Bridge: "http://h", BridgeToken: "file:" + filepath.Join(dir, "two")}, "line end"},
		{InjectOptions{Bridge: "http://h", BridgeToken: "file:" + filepath.Join(dir, "empty")}, "is empty"},
		{InjectOptions{MCP: []string{"https://u:hunter2@h/"}}, "NAME=URL"},
		{InjectOptions{MCP: []string{"a=ftp://u:hunter2@h/"}}, "--mcp a: its url"},
		{InjectOptions{MCP: []string{"a=http://u:hunter2@[::1/"}}, "--mcp a: its url"},
		{InjectOptions{MCP: []string{"a=http://h", "a=http://i"}}, `"a" is given twice, by --mcp and by --mcp`},
		{InjectOptions{Bridge: "http://h", MCPStdio: []string{"pi-bridge=x"}}, "given twice, by --bridge and by --mcp-stdio"},
		{InjectOptions{MCP: []string{"a=http://h"}, MCPHeaders: []string{"a:hunter2"}}, "NAME:KEY=VALUE"},
		{InjectOptions{MCP: []string{"a=http://h"}, MCPHeaders: []string{"a:no good=hunter2"}}, "NAME:KEY=VALUE"},
		{InjectOptions{MCP: []string{"a=http://h"}, MCPHeaders: []string{"a:k=env:NOPE"}}, "--mcp-header a:k: the variable NOPE"},
		{InjectOptions{MCP: []string{"a=http://h"}, MCPHeaders: []string{"b:k=hunter2"}}, `no injected http server "b"`},
		{InjectOptions{MCPStdio: []string{"a=sh", "b"}}, "NAME=COMMAND"},
		{InjectOptions{MCPStdio: []string{"a="}}, "the command is empty"},
		{InjectOptions{MCPStdio: []string{`a=sh 'hunter2`}}, "a quote ' is not closed"},
		{InjectOptions{MCPStdio: []string{`a=sh \`}}, "ends in a backslash"},
		{InjectOptions{MCPConfig: filepath.Join(dir, "nope")}, "--mcp-config"},
		{InjectOptions{MCPConfig: token}, "no valid JSON"},
	} {
		x.opt.Getenv = func(string) string { return "" }
		_, err := NewInjector(x.opt)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v; want %q in it", x.opt, err, x.want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is in %v", err)
		}
	}
	if _, err := NewInjector(InjectOptions{MCPConfig: filepath.Join(dir, "nope")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v does not say that it is not there", err)
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`a b  c`:               {"a", "b", "c"},
		`'a b' "c d"e\ f`:      {"a b", "c de f"},
		`"a\"b\\c\d" '\'`:      {`a"b\c\d`, `\`},
		`'' ""`:                {"", ""},
		` $HOME *.go | x; && `: {"$HOME", "*.go", "|", "x;", "&&"},
		``:                     nil,
	} {
		got, err := words(line)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", line, got, err, want)
		}
	}
}

func TestMCPConfig(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{`{"mcpServers":{"a":{"command":"c","args":["x"],"env":{"K":"v","N":1}, "cwd":"/", "autoApprove":[] /* unknown */},}, "other": 1}`,
			`{"name":"a","command":"c","args":["x"],"env":[{"name":"K","value":"v"},{"name":"N","value":"1"}]}`},
		{`{"mcpServers":{"a":{"url":"http://h/","headers":{"k":"v"}},"b":{"serverUrl":"http://h/sse"},"c":{"httpUrl":"http://h/sse"},"d":{"url":"http://h","disabled":true}}}`,
			`{"type":"http","name":"a","url":"http://h/","headers":[{"name":"k","value":"v"}]} {"type":"sse","name":"b","url":"http://h/sse","headers":[]} {"type":"http","name":"c","url":"http://h/sse","headers":[]}`},
		{`[{"type":"http","name":"a","url":"http://h/","headers":[{"name":"k","value":"v"}]},{"name":"b","command":"c","args":[],"env":[{"name":"n","value":"v"}]}]`,
			`{"type":"http","name":"a","url":"http://h/","headers":[{"name":"k","value":"v"}]} {"name":"b","command":"c","args":[],"env":[{"name":"n","value":"v"}]}`},
		{`{"mcpServers":[{"name":"a","transport":"streamable-http","url":"http://h/"},{"name":"b","type":"SSE","url":"http://h/"}]}`,
			`{"type":"http","name":"a","url":"http://h/","headers":[]} {"type":"sse","name":"b","url":"http://h/","headers":[]}`},
		{`{"mcpServers":{}}`, ``},
		{"\ufeff" + `{"mcpServers":{"a":{"command":"c"}}}`, `{"name":"a","command":"c","args":[],"env":[]}`},
		{`{"servers":{}}`, `error: it has no "mcpServers"`},
		{`{"mcpServers":7}`, `error: the servers are a number, not an object or a list`},
		{`{`, `error: it is no valid JSON`},
		{`{"mcpServers":{"a":{}}}`, `error: the server "a": it has neither a command nor a url`},
		{`{"mcpServers":{"a":[]}}`, `error: the server "a": its entry is a list, not an object`},
		{`{"mcpServers":{"a":{"type":"ws","url":"http://h"}}}`, `error: the server "a": its type "ws" is not stdio, http or sse`},
		{`{"mcpServers":{"a":{"url":"h:1"}}}`, `error: the server "a": its url is not one that begins with http:// or https:// and names a host`},
		{`{"mcpServers":{"a":{"command":"c","args":"x"}}}`, `error: the server "a": its args are a string, not a list`},
		{`{"mcpServers":{"a":{"command":"c","args":[1]}}}`, `error: the server "a": its args are not all strings`},
		{`{"mcpServers":{"a":{"command":"c","env":{"K":null}}}}`, `error: the server "a": in its env, "K" is null, not a string`},
		{`{"mcpServers":{"a":{"command":"c","env":[{"value":"v"}]}}}`, `error: the server "a": one of its env has no name`},
		{`{"mcpServers":{"a":{"url":"http://h","headers":{"k":"a\nb"}}}}`, `error: the server "a": in its headers, "k" has a line end in it`},
		{`[{"command":"c"}]`, `error: the server "": it has no name`},
	} {
		list, err := parseMCPConfig([]byte(x.text))
		var all []string
		for _, s := range list {
			if err := s.write(); err != nil {
				t.Fatal(err)
			}
			all = append(all, s.text)
		}
		got := strings.Join(all, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != x.want {
			t.Errorf("%s\ngot  %s\nwant %s", x.text, got, x.want)
		}
	}
}
