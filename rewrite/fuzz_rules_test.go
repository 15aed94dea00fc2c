package rewrite

import (
	"slices"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// FuzzRules: a rule changes what its path leads to, and nothing else: compared
// as decoded JSON, the rest is the same. Any bytes are borne.
func FuzzRules(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"x","params":{"a":{"b":1},"c":[1,2]}}`), "a.b")
	f.Add([]byte(`{"id":1,"method":"x","params":{"a":[{"b":1},{"b":2}]}}`), "a.*.b")
	f.Add([]byte(`{"id":1,"result":{"a.b":[[[1]]]}}`), `a\.b.0.0`)
	for i, line := range seeds.Frames() {
		f.Add(line, []string{"mcpServers.*.name", "update.content.text", "mode", "*", "sessionUpdate.x", "prompt.0.text", `a\.b.0`}[i%7])
	}
	f.Fuzz(func(t *testing.T, line []byte, text string) {
		for _, verb := range verbs {
			o := op{verb: verb, name: "zz", value: `"zz"`}
			p, err := parsePath(text)
			if err != nil {
				return
			}
			o.path = p
			m := &proxy.Message{}
			m.Parse(append([]byte(nil), line...))
			if !m.Object() {
				return
			}
			o.apply(m)
			root := "params"
			if m.Kind == wire.Response {
				root = "result"
			}
			// Where the way is not there, what is missing of it is made.
			n := len(p)
			for was := fresh(line); n > 1 && len(p[:n-1].find(was, rootOf(was))) == 0; n-- {
			}
			may := [][]string{ways(root, p, n)}
			if verb == "rename" {
				may = append(may, append(ways(root, p, n-1), "zz"))
			}
			if _, isNumber := p[len(p)-1].index(1 << 30); verb == "delete" && isNumber {
				may = [][]string{append(ways(root, p, n-1), "*")} // what is behind it moves up
			}
			kept(t, verb+" "+text, line, m, may)
			once := slices.Clone(m.Raw)
			if verb == "delete" {
				continue // of a list it takes the next one
			}
			again := fresh(once)
			if o.apply(again); string(again.Raw) != string(once) {
				t.Fatalf("%s %s: %q became %q and then %q", verb, text, line, once, again.Raw)
			}
		}
	})
}

func rootOf(m *proxy.Message) proxy.Span {
	if m.Kind == wire.Response {
		return m.Result
	}
	return m.Params
}

// ways is the beginning of a path, as it is compared: an element's number may be
// written in several ways.
func ways(root string, p path, n int) []string {
	list := []string{root}
	for _, x := range p[:n] {
		if _, isNumber := x.index(1 << 30); x.any || isNumber {
			x.name = "*"
		}
		list = append(list, x.name)
	}
	return list
}
