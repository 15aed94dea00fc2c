package rewrite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-shim/internal/wire"
)

func mustRules(t testing.TB, text string) *Rules {
	t.Helper()
	r, err := ParseRules([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRules(t *testing.T) {
	const base = `{"id":1, "method":"x","params":{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}}`
	for _, x := range []struct{ name, ops, params string }{
		{"rename", `"rename":{"a":"z"}`, `{ "z":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"rename to a name that is taken", `"rename":{"a":"b"}`, ""},
		{"rename inside a list", `"rename":{"b.c.*.d":"D"}`, `{ "a":1 , "b":{"c":[{"D":1},{"D":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"set", `"set":{"a":{"x":[1,2]}}`, `{ "a":{"x":[1,2]} , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"set by index", `"set":{"b.c.1.d":"two"}`, `{ "a":1 , "b":{"c":[{"d":1},{"d":"two","e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"set an element", `"set":{"b.c.0":0}`, `{ "a":1 , "b":{"c":[0,{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"set all elements", `"set":{"b.c.*":0}`, `{ "a":1 , "b":{"c":[0,0]},"k.l":{"*":3},"n":null}`},
		{"set beyond the list", `"set":{"b.c.2":0}`, ""},
		{"set what is not there", `"set":{"b.x":0}`, `{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}],"x":0},"k.l":{"*":3},"n":null}`},
		{"set on a way that is not there", `"set":{"_meta.x.y":0}`, `{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null,"_meta":{"x":{"y":0}}}`},
		{"set below a number", `"set":{"a.b.c":0}`, ""},
		{"set below * that is not there", `"set":{"z.*.c":0}`, ""},
		{"escapes", `"set":{"k\\.l.\\*":4}`, `{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":4},"n":null}`},
		{"default", `"default":{"a":2,"n":2,"q":2}`, `{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null,"q":2}`},
		{"default in every element", `"default":{"b.c.*.e":2}`, `{ "a":1 , "b":{"c":[{"d":1,"e":2},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"delete the first", `"delete":["a"]`, `{ "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"delete the last", `"delete":["n"]`, `{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3}}`},
		{"delete the only one", `"delete":["k\\.l.\\*"]`, `{ "a":1 , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{},"n":null}`},
		{"delete an element", `"delete":["b.c.0"]`, `{ "a":1 , "b":{"c":[{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"delete all", `"delete":["b.*"]`, `{ "a":1 , "b":{},"k.l":{"*":3},"n":null}`},
		{"delete in a list", `"delete":["b.c.*"]`, `{ "a":1 , "b":{"c":[]},"k.l":{"*":3},"n":null}`},
		{"delete what is not there", `"delete":["q","b.q","a.q"]`, ""},
		{"their order", `"delete":["z"],"set":{"z":5},"rename":{"a":"z"}`, `{ "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
		{"a value over many lines", "\"set\":{\"a\":{\n\t\"x\": 1, // no\n}}", `{ "a":{"x":1} , "b":{"c":[{"d":1},{"d":2,"e":"}"}]},"k.l":{"*":3},"n":null}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			rules := mustRules(t, `[{"method":"x","direction":"to-agent",`+x.ops+`}]`)
			m := parse(base)
			rules.apply(m, "x", rulesToAgent)
			want := base
			if x.params != "" {
				want = `{"id":1, "method":"x","params":` + x.params + `}`
			}
			if string(m.Raw) != want {
				t.Errorf("got  %s\nwant %s", m.Raw, want)
			}
			if got := wire.Undo(m.Raw, m.Edits()); string(got) != base {
				t.Errorf("undone it is %s", got)
			}
		})
	}
}

func TestRulesFaults(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{`{}`, "the rules are a list, not an object"},
		{`[`, "no valid JSON"},
		{`[7]`, "rule 1: a rule is an object, not a number"},
		{`[{"method":"x","direction":"to-agent","set":{"a":1}},{"direction":"to-agent","set":{"a":1}}]`, `rule 2: it needs a "method"`},
		{`[{"method":"x","direction":"up","set":{"a":1}}]`, `rule 1: its "direction" is "to-agent" or "to-client", not "up"`},
		{`[{"method":"x","direction":"to-agent"}]`, "rule 1: it does nothing"},
		{`[{"method":"x","direction":"to-agent","renam":{}}]`, `rule 1: there is no "renam" in a rule, did you mean rename?`},
		{`[{"method":"x","direction":"to-agent","rename":["a"]}]`, "rule 1: rename is an object"},
		{`[{"method":"x","direction":"to-agent","rename":{"a":1}}]`, `rule 1: rename "a": the new name is a string`},
		{`[{"method":"x","direction":"to-agent","rename":{"a.*":"b"}}]`, `rule 1: rename "a.*"`},
		{`[{"method":"x","direction":"to-agent","default":{"a.*":"b"}}]`, `rule 1: default "a.*"`},
		{`[{"method":"x","direction":"to-agent","delete":"a"}]`, "rule 1: delete is a list of paths, not a string"},
		{`[{"method":"x","direction":"to-agent","delete":[1]}]`, "rule 1: delete is a list of paths"},
		{`[{"method":"x","direction":"to-agent","delete":["a..b"]}]`, `rule 1: delete: the path "a..b" has an empty name in it`},
		{`[{"method":"x","direction":"to-agent","delete":[""]}]`, "empty name"},
		{`[{"method":"x","direction":"to-agent","delete":["a\\"]}]`, "ends in a backslash"},
		{`[{"method":"x","direction":"to-agent","set":{"sessionId":"a"}}]`, "rule 1: set: sessionId cannot be changed"},
		{`[{"method":"x","direction":"to-agent","rename":{"a":"sessionId"}}]`, "sessionId cannot be changed"},
		{"[{\"method\":\"x\",\"direction\":\"to-agent\",\"delete\":[\"\xff\"]}]", "is not UTF-8"},
	} {
		_, err := ParseRules([]byte(x.text))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q in it", x.text, err, x.want)
		}
	}
	for _, none := range []string{"", " ", "null", "[]", "/* none */"} {
		if r, err := ParseRules([]byte(none)); err != nil || r.Len() != 0 {
			t.Errorf("%q: %v", none, err)
		}
	}
}

// Rules see what the quirks have left, go by the method of the request that is
// answered, hold for every profile, and are replaced while the shim runs.
func TestRulesInAConversation(t *testing.T) {
	a := &scripted{t: t, info: `{"protocolVersion":1,"agentInfo":{"name":"other","version":"1"}}`}
	a.reply = func(_ *scripted, f request) string {
		if f.Method == "session/prompt" {
			return chunkLine("hello") + "\n" + f.result(ended)
		}
		return opens1(f)
	}
	rw, err := New(Options{Rules: mustRules(t, `[
		{"method":"session/new","direction":"to-agent","set":{"cwd":"/other"}},
		{"method":"session/new","direction":"to-client","set":{"_meta.by":"rule"}},
		{"method":"session/update","direction":"to-client","set":{"update.content.text":"redacted"}},
		{"method":"*","direction":"to-client","delete":["stopReason"]}]`)})
	if err != nil {
		t.Fatal(err)
	}
	p := a.inFront(rw)
	if got := p.ask(opened); got != `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1","_meta":{"by":"rule"}}}`+"\n" {
		t.Errorf("got %s", got)
	}
	p.ask(promptLine(2, "a"))
	rw.SetRules(mustRules(t, `[]`))
	p.ask(promptLine(3, "a"))
	p.note("end")
	want := []string{"1 result with sessionId", `text "redacted"`, "2 result {}", `text "hello"`, `3 result {"stopReason":"end_turn"}`, "end"}
	if d := cmp.Diff(want, p.seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := a.sent()[0]; !strings.Contains(got, `"cwd":"/other","mcpServers":[]`) {
		t.Errorf("the agent got %s", got)
	}
}

func TestRulesLeaveWhatCannotBeChanged(t *testing.T) {
	rules := mustRules(t, `[{"method":"*","direction":"to-agent","set":{"a":1,"b.c":2},"delete":["d","e.*"],"rename":{"f":"g"}}]`)
	for _, line := range []string{
		`{"id":1,"method":"x","params":{"d":1},"params":{"d":1}}`,
		`{"id":1,"method":"x","params":{"d":1}`,
		`{"id":1,"method":"x","params":{"d":1}} trailing`,
		`[{"id":1,"method":"x","params":{"d":1}}]`,
		`{"id":1,"method":"x","params":[1]}`,
		`{"id":1,"method":"x","params":"d"}`,
		`{"id":1,"method":"x"}`,
		`noise`, ``, `{"id":1,"method":"x","params":{"a":1,"a":1,"b":7,"d":1,"d":2,"e":3,"f":1,"g":2}}`,
	} {
		m := parse(line)
		rules.apply(m, "x", rulesToAgent)
		if string(m.Raw) != line {
			t.Errorf("%s became %s", line, m.Raw)
		}
	}
}
