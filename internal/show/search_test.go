package show

import (
	"fmt"
	"regexp"
	"testing"

	"acp-shim/internal/trace"
)

func found(pattern string, list []*trace.Record) []string {
	s := Search{Pattern: regexp.MustCompile(pattern)}
	var got []string
	for _, r := range list {
		if f := s.In(r); f != nil {
			got = append(got, fmt.Sprintf("%d %s %s|%s|%s", r.Seq, f.Path, f.Before, f.Match, f.After))
		}
	}
	return got
}

func TestSearch(t *testing.T) {
	const message = "agent_message_chunk"
	list := read(t,
		line(1, "client", "agent#1", `{"id":-32601,"method":"a/b","params":{"list":[{"k":1},{"k.x":"caf\u00e9 \"q\""}]}}`, ""),
		chunk(2, "s", message, "The quick bro"),
		chunk(3, "t", message, "in between"),
		chunk(4, "s", message, "wn fox. Foo"),
		chunk(5, "s", message, "bar baz"),
		`{"seq":6,"t":6,"event":"stderr","agent":"agent#1","text":"café burnt"}`,
		`{"seq":7,"t":7,"from":"agent#1","to":null,"text":"no JSON \u001b here"}`,
		line(8, "client", "agent#1", `{"method":"x","params":{"methodId":"y"}}`, `,"edits":[{"at":27,"old":"method_id","new":"methodId"}]`),
		chunk(9, "s", message, "brown"),
		update(10, "s", `{"sessionUpdate":"plan","entries":[]}`),
		chunk(11, "s", message, "ie"),
	)
	for _, x := range []struct {
		pattern string
		want    []string
	}{
		{"café", []string{`1 params.list.1.k\.x |café| "q"`, "6  |café| burnt"}},
		{`^k\.x$`, []string{`1 params.list.1.k\.x |k.x|`}},
		{"32601", []string{"1 id -|32601|"}},
		{"brown fox", []string{"4 params.update.content.text The quick |brown fox|. Foo"}},
		{"Foobar", []string{"5 params.update.content.text The quick brown fox. |Foobar| baz"}},
		{"quick.*", []string{"2 params.update.content.text The |quick bro|"}}, // once, not for all that follows
		{"\x1b", []string{"7  no JSON |\x1b| here"}},
		{"method_id", []string{"8 what the shim changed |method_id|"}},
		{"brownie", nil}, // another update was between
		{"bro", []string{"2 params.update.content.text The quick |bro|", "9 params.update.content.text |bro|wn"}},
		{"nowhere", nil},
	} {
		t.Run(x.pattern, func(t *testing.T) { same(t, found(x.pattern, list), x.want...) })
	}
}
