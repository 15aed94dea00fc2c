package show

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFilter(t *testing.T) {
	list := read(t,
		line(1, "client", "agent#1", `{"id":1,"method":"session/prompt","params":{"sessionId":"abc-1"}}`, ""),
		chunk(2, "abc-1", "agent_message_chunk", "x"),
		update(3, "abc-1", `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed"}`),
		`{"seq":4,"t":4000000,"event":"stderr","agent":"agent#2","text":"x"}`,
		`{"seq":5,"t":5000000,"event":"exit","agent":"agent#2","text":"exited with code 3"}`,
		`{"seq":6,"t":6000000,"event":"exit","agent":"agent#3","text":"exited with code 0"}`,
		`{"seq":7,"t":7000000,"event":"cancel","agent":"agent#1","session":"abc-1","text":"begins"}`,
		line(8, "agent#1", "client", `{"id":1,"error":{"code":1,"message":"no"}}`, ""),
		line(9, "shim", "client", `{"id":9,"result":{}}`, ""),
		line(10, "client", "agent#1", `{"method":"session/cancel","params":{"sessionId":"xyz"}}`, ""),
		`{"seq":11,"t":11000000,"from":"agent#1","to":null,"text":"noise","why":"noise"}`,
	)
	for _, x := range []struct {
		name string
		f    Filter
		want string
	}{
		{"none", Filter{}, "1 2 3 4 5 6 7 8 9 10 11"},
		{"method, with its answer", Filter{Methods: []string{"session/prompt"}}, "1 8"},
		{"glob over a slash", Filter{Methods: []string{"*cancel", "std?rr"}}, "4 7 10"},
		{"kind of update", Filter{Methods: []string{"tool_*"}}, "3"},
		{"method of updates", Filter{Methods: []string{"session/update"}}, "2 3"},
		{"nothing but the whole", Filter{Methods: []string{"session", "cance"}}, ""},
		{"a dot is a dot", Filter{Methods: []string{"session.prompt"}}, ""},
		{"session", Filter{Session: "abc"}, "1 2 3 7 8"},
		{"session by its end, as it is shown", Filter{Session: "…yz"}, "10"},
		{"client", Filter{From: "client"}, "1 10"},
		{"shim", Filter{From: "shim"}, "7 9"},
		{"agent", Filter{From: "agent"}, "2 3 4 5 6 8 11"},
		{"agent#2", Filter{From: "agent#2"}, "4 5"},
		{"errors", Filter{Errors: true}, "3 5 8"},
		{"slow", Filter{Slow: 7 * time.Millisecond}, "8"},
		{"slower", Filter{Slow: 8 * time.Millisecond}, ""},
		{"where", Filter{Where: `params.update.status=="failed"`}, "3"},
		{"seq", Filter{Seq: "4-6"}, "4 5 6"},
		{"one seq", Filter{Seq: "4"}, "4"},
		{"from a seq", Filter{Seq: "10-"}, "10 11"},
		{"up to a seq", Filter{Seq: "-2"}, "1 2"},
		{"all at once", Filter{Session: "abc", From: "agent", Errors: true, Seq: "5-"}, "8"},
	} {
		match, err := x.f.Compile()
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		var got []string
		for _, r := range list {
			if match(r) {
				got = append(got, fmt.Sprint(r.Seq))
			}
		}
		if g := strings.Join(got, " "); g != x.want {
			t.Errorf("%s: got %q, want %q", x.name, g, x.want)
		}
		if x.f.Any() != (x.name != "none") {
			t.Errorf("%s: Any is %v", x.name, x.f.Any())
		}
	}
	for _, f := range []Filter{{From: "editor"}, {From: "agent#0"}, {Seq: "x"}, {Seq: "9-3"}, {Seq: "-"}, {Where: "  "}} {
		if _, err := f.Compile(); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

func TestWhere(t *testing.T) {
	frame := []byte(`{"id":3,"params":{"a":true,"no":false,"nil":null,"list":[{"type":"diff","n":5},{"type":"text"}],"none":[],"s":"it=s \"q\""}}`)
	for query, want := range map[string]bool{
		`params.a`: true, `params.no`: false, `params.nil`: false, `params.b`: false, `params.none`: false, `params.list`: true,
		`params.list.#(type=="diff")`: true, `params.list.#(type=="image")`: false, `params.list.#(n>4)#`: true, `params.list.#(n>5)#`: false,
		`id==3`: true, `id>3`: false, `id!=4`: true, `params.s%"*q*"`: true, `params.a==true`: true, `params.a==false`: false,
		`params.list.#(type=="diff").n>=5`: true,
		`((((`:                             false,
	} {
		test, err := Where(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := test(frame); got != want {
			t.Errorf("%s is %v", query, got)
		}
	}
}
