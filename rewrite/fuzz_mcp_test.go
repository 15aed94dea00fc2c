package rewrite

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// FuzzMCPFile: whatever a file of servers is, it is refused without repeating a value
// of it, or each of its servers is an entry that the shim's own rows find complete.
func FuzzMCPFile(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers":{"a":{"url":"http://h/","headers":{"K":"v"}},"b":{"command":"c","args":["x"],"env":{"A":1}}}}`,
		`[{"name":"a","type":"sse","url":"http://h/sse","headers":[{"name":"K","value":"v"}]}]`, `{"mcpServers":{"a":{"httpUrl":"http://h/"}, // c
"b":{"command":"c","disabled":true},}}`, "\ufeff[]", `{"mcpServers":{"a":{},"a":{}}}`, `{"mcpServers":{"\ud800":{"command":"\u0000"}}}`, `{"mcpServers":` + strings.Repeat("[", 5000),
		`{"mcpServers":{"a":{"url":"http://h/","headers":{"K":"v\r\nX: y"}}}}`, `{"mcpServers":{"a":{"command":"c","args":"S3CRET","env":"S3CRET"}}}`,
	} {
		f.Add([]byte(text))
	}
	for _, line := range seeds.Frames() {
		m := fresh(line)
		f.Add(m.Text(m.Params))
	}
	rw := newRewriter(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		given := bytes.Clone(text)
		list, err := parseMCPConfig(text)
		if !bytes.Equal(text, given) {
			t.Fatal("the text itself was changed")
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") || bytes.Contains(text, []byte("S3CRET")) && strings.Contains(err.Error(), "S3CRET") && !strings.Contains(err.Error(), `the server "`) {
				t.Fatalf("of %q: %q", text, err)
			}
			return
		}
		for _, s := range list {
			if err := s.write(); err != nil {
				t.Fatal(err)
			}
			line := []byte(`{"id":1,"method":"session/new","params":{"mcpServers":[` + s.text + `]}}`)
			m := fresh(line)
			if !wire.Valid(line) || len(m.Elements(first(m))) != 1 || bytes.IndexByte(line, '\n') >= 0 {
				t.Fatalf("of %q: %s", text, s.text)
			}
			if serverEntries(rw, &proxy.Step{}, m); len(m.Edits()) > 0 {
				t.Fatalf("of %q: %s lacks something: %s", text, s.text, m.Raw)
			}
			for _, h := range s.headers {
				if strings.ContainsAny(h.Value+h.Name, "\r\n\x00") {
					t.Fatalf("a header is more than a line: %q", h)
				}
			}
		}
	})
}

func first(m *proxy.Message) proxy.Span {
	at, _ := m.At(m.Params, "mcpServers")
	return at
}

// FuzzWords: words that are quoted as for a shell come back, and nothing is expanded.
func FuzzWords(f *testing.F) {
	f.Add("a", "b c", `it's "$HOME" \ *`)
	f.Add("", "\n\t", "'")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		list := []string{a, b, c}
		var line []string
		for _, w := range list {
			line = append(line, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		got, err := words(strings.Join(line, " \t"))
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%q became %q, %v", list, got, err)
		}
		words(a) // whatever it is
	})
}
