package rewrite

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory is a Learned for one test.
type memory struct {
	mu   sync.Mutex
	kept map[string][]Rename
}

func (k *memory) Load(build string) []Rename {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Rename(nil), k.kept[build]...)
}

func (k *memory) Save(build string, r Rename) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string][]Rename{}
	}
	k.kept[build] = append(k.kept[build], r)
}

func setOption(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/set_config_option","params":{"sessionId":"$S",` + params + `}}`
}

// strict is an agent that calls the option's id optId.
func strict(t *testing.T) *scripted {
	return &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string {
		if f.Method == "session/set_config_option" {
			if !f.has("optId") {
				return f.missing(`["params","optId"]`)
			}
			return f.result(`{}`)
		}
		return opens1(f)
	}}
}

func TestOracleLearnsForTheBuild(t *testing.T) {
	kept := &memory{}
	newShim := func() *Rewriter {
		rw, err := New(Options{Learned: kept})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(rw.Close)
		return rw
	}
	a := strict(t)
	rw := newShim()
	p := a.inFront(rw)
	p.ask(opened)
	// optionIdent is not known, configId would be; "7.0" is the id's text.
	p.ask(setOption("7.0", `"optionIdent":"model","value":"x"`))
	p.ask(setOption("8", `"optionIdent":"model","value":"y"`))
	p.end()
	want := []string{
		opened,
		`{"jsonrpc":"2.0","id":7.0,"method":"session/set_config_option","params":{"sessionId":"s1","optionIdent":"model","value":"x"}}`,
		`{"jsonrpc":"2.0","id":7.0,"method":"session/set_config_option","params":{"sessionId":"s1","optId":"model","value":"x"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"session/set_config_option","params":{"sessionId":"s1","optId":"model","value":"y"}}`,
		`{"jsonrpc":"2.0","id":"acp-shim/t/1","method":"session/close","params":{"sessionId":"s1"}}`,
	}
	if d := cmp.Diff(want, a.sent()); d != "" {
		t.Errorf("the agent got (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"1 result with sessionId", "7.0 result {}", "8 result {}"}, p.seen); d != "" {
		t.Errorf("the client got (-want +got):\n%s", d)
	}
	rw.Close()
	learned := Rename{Method: "session/set_config_option", From: "optionIdent", To: "optId"}
	if d := cmp.Diff(map[string][]Rename{"9.9": {learned}}, kept.kept); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}

	// The next run knows it from the start.
	a = strict(t)
	rw = newShim()
	p = a.inFront(rw)
	rw.renaming.Wait() // until it is read the oracle would do
	p.ask(opened)
	p.ask(setOption("7", `"optionIdent":"model","value":"x"`))
	if got := a.sent()[1:]; len(got) != 1 || !strings.Contains(got[0], `"optId":"model"`) {
		t.Errorf("the next run sent %q", got)
	}
}

func TestOracleLetsARefusalPass(t *testing.T) {
	refuse := func(text string) func(*scripted, request) string {
		return func(_ *scripted, f request) string {
			if f.Method == "session/new" {
				return opens1(f)
			}
			if f.Method == "session/close" {
				return f.result("{}")
			}
			return strings.ReplaceAll(text, "$ID", string(f.ID))
		}
	}
	missing := func(locs ...string) string {
		var list []string
		for _, loc := range locs {
			list = append(list, `{"loc":`+loc+`,"msg":"field required","type":"value_error.missing"}`)
		}
		return `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Invalid params","data":{"errors":[` + strings.Join(list, ",") + `]}}}`
	}
	big := strings.Repeat("x", keepLimit)
	for _, x := range []struct{ name, request, reply string }{
		{"a prompt", `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","content":[]}}`, missing(`["prompt"]`)},
		{"two unknown fields", setOption("2", `"a":1,"b":2`), missing(`["configId"]`)},
		{"no unknown field", setOption("2", `"value":2`), missing(`["configId"]`)},
		{"two missing, one unknown", setOption("2", `"a":2`), missing(`["configId"]`, `["value"]`)},
		{"only names with _", setOption("2", `"value":2,"_x":1`), missing(`["configId"]`)},
		{"a second name that is not there", setOption("2", `"a":1,"value":1`), missing(`["configId"]`, `["x","y","z","w"]`)},
		{"an unknown method", `{"jsonrpc":"2.0","id":2,"method":"_x/y","params":{"sessionId":"s1","a":1}}`, missing(`["b"]`)},
		{"another code", setOption("2", `"a":1,"value":1`), strings.Replace(missing(`["configId"]`), "-32602", "-32603", 1)},
		{"another fault", setOption("2", `"a":1,"value":1`), strings.Replace(missing(`["configId"]`), "value_error.missing", "type_error.str", 1)},
		{"no errors", setOption("2", `"a":1,"value":1`), missing()},
		{"a loc of numbers", setOption("2", `"a":1,"value":1`), missing(`[1,2]`)},
		{"an empty loc", setOption("2", `"a":1,"value":1`), missing(`[]`)},
		{"a request that is long", setOption("2", `"a":1,"value":"`+big+`"`), missing(`["configId"]`)},
		{"a name given twice", setOption("2", `"a":1,"a":2,"value":1`), missing(`["configId"]`)},
		{"errors that are no list", setOption("2", `"a":1,"value":1`), `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"m","data":{"errors":7}}}`},
		{"data that is null", setOption("2", `"a":1,"value":1`), `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"m","data":null}}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			a := &scripted{t: t, info: agyInfo("9.9", ""), reply: refuse(x.reply)}
			p := a.inFront(newRewriter(t))
			p.ask(opened)
			line := p.ask(x.request)
			if want := strings.ReplaceAll(x.reply, "$ID", "2") + "\n"; line != want {
				t.Errorf("the client got %.300s\nwant %.300s", line, want)
			}
			if got := a.sent()[1:]; len(got) != 1 {
				t.Errorf("the agent was asked %d times", len(got))
			}
		})
	}
}

// A request is sent once more at the most, however its renaming is taken.
func TestOracleTriesOnce(t *testing.T) {
	a := &scripted{t: t, info: agyInfo("9.9", ""), reply: func(_ *scripted, f request) string {
		if f.Method != "session/set_config_option" {
			return opens1(f)
		}
		if f.has("a") {
			return f.missing(`["b"]`)
		}
		return f.missing(`["c"]`)
	}}
	kept := &memory{}
	rw, err := New(Options{Learned: kept})
	if err != nil {
		t.Fatal(err)
	}
	p := a.inFront(rw)
	p.ask(opened)
	p.ask(setOption("2", `"a":1,"value":1`))
	p.end()
	rw.Close()
	if d := cmp.Diff([]string{"1 result with sessionId", "2 error -32602 c: field required"}, p.seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if kept.kept != nil {
		t.Errorf("learned from a refusal: %v", kept.kept)
	}
}

// Once something later of the session has gone out, the order would be another
// one: the client gets the refusal.
func TestOracleKeepsTheOrder(t *testing.T) {
	var first request
	a := &scripted{t: t, info: agyInfo("9.9", "")}
	a.reply = func(_ *scripted, f request) string {
		switch {
		case f.Method == "session/set_config_option":
			first = f
			return ""
		case f.Method == "session/set_mode":
			return first.missing(`["configId"]`) + "\n" + f.result("{}")
		}
		return opens1(f)
	}
	p := a.inFront(newRewriter(t))
	p.ask(opened)
	p.send(setOption("2", `"a":1,"value":1`))
	p.ask(`{"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"yolo"}}`)
	if len(p.seen) != 3 || !strings.HasPrefix(p.seen[1], `stray {"jsonrpc":"2.0","id":2,"error"`) || p.seen[2] != "3 result {}" {
		t.Errorf("the client got %q", p.seen)
	}
	if got := a.sent(); len(got) != 3 {
		t.Errorf("the agent got %q", got)
	}
}

func TestFindUnknown(t *testing.T) {
	servers := `"mcpServers":[{"type":"http","name":"a","url":"http://h/","hdrs":[]},{"name":"b","command":"c","args":[],"environment":[]}]`
	for _, x := range []struct{ method, params, loc, want string }{
		{"session/new", `{"cwd":"/",` + servers + `}`, `["params","mcpServers",0,"headers"]`, "mcpServers.*: hdrs to headers"},
		{"session/new", `{"cwd":"/",` + servers + `}`, `["mcpServers",0,"http","headers"]`, "mcpServers.*: hdrs to headers"},
		{"session/new", `{"cwd":"/",` + servers + `}`, `["mcpServers","0","HttpMcpServer","headers"]`, "mcpServers.*: hdrs to headers"},
		{"session/new", `{"cwd":"/",` + servers + `}`, `["mcpServers",1,"env"]`, "mcpServers.*: environment to env"},
		{"session/new", `{"cwd":"/",` + servers + `}`, `["mcpServers",2,"env"]`, ""},
		{"session/new", `{"workdir":"/",` + servers + `}`, `["cwd"]`, ": workdir to cwd"},
		{"session/new", `{"workdir":"/",` + servers + `}`, `["body","cwd"]`, ": workdir to cwd"},
		{"session/load", `{"id":"s","cwd":"/","mcpServers":[]}`, `["sessionId"]`, ": id to sessionId"},
		{"session/set_model", `{"sessionId":"s","model":"m"}`, `["modelId"]`, ": model to modelId"},
		{"authenticate", `{"id":"oauth-personal","_meta":{}}`, `["methodId"]`, ": id to methodId"},
		{"initialize", `{"version":1,"clientInfo":{"name":"x","v":"1"}}`, `["clientInfo","version"]`, "clientInfo: v to version"},
	} {
		t.Run(x.method+x.loc, func(t *testing.T) {
			m := parse(`{"jsonrpc":"2.0","id":1,"method":"` + x.method + `","params":` + x.params + `}`)
			e := `[{"loc":` + x.loc + `,"msg":"Field required","type":"missing"}]`
			got := ""
			if list, ok := fix(m, result(e)); ok {
				got = list[0].In + ": " + list[0].From + " to " + list[0].To
				if !json.Valid(m.Raw) {
					t.Errorf("it became %s", m.Raw)
				}
			}
			if got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}
