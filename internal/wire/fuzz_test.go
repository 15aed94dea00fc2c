package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/flat"
)

// FuzzSplice: a change of a member differs from what was before in that member only,
// is given back by its edits, and is not made a second time.
func FuzzSplice(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"a","params":{"x":1,"y":[{"z":"\ud800"}]}}`), "x", "y")
	for i, line := range seeds.Frames() {
		f.Add(line, []string{"mode", "sessionId", "mcpServers", "update"}[i%4], []string{"modeId", "configId"}[i%2])
	}
	f.Fuzz(func(t *testing.T, raw []byte, name, to string) {
		// What is written is UTF-8, of the program's own or of a config file's names.
		to = strings.ToValidUTF8(to, "\ufffd")
		orig := slices.Clone(raw)
		for _, way := range [][]string{{"params"}, {"result"}} {
			for verb, change := range map[string]func(m *Message, s Span) bool{
				"rename": func(m *Message, s Span) bool { return m.Rename(s, name, to) },
				"add":    func(m *Message, s Span) bool { return m.Add(s, to, "[]") },
				"delete": func(m *Message, s Span) bool { return m.Delete(s, name) },
				"set": func(m *Message, s Span) bool {
					at, ok := m.At(s, name)
					return ok && m.Set(at, "[1.0]")
				},
			} {
				m := &Message{}
				m.Parse(raw)
				at := func() Span {
					if way[0] == "result" {
						return m.Result
					}
					return m.Params
				}
				changed := change(m, at())
				if !bytes.Equal(raw, orig) {
					t.Fatal("the buffer was written to")
				}
				if got := Undo(m.Raw, m.Edits()); !bytes.Equal(got, orig) {
					t.Fatalf("%s: undo gives %q", verb, got)
				}
				if !changed || len(m.Edits()) == 0 {
					if !bytes.Equal(m.Raw, orig) {
						t.Fatalf("%s: changed without saying so: %q", verb, m.Raw)
					}
					continue
				}
				if !Valid(m.Raw) {
					t.Fatalf("%s broke the frame: %q", verb, m.Raw)
				}
				if d := flat.Beside(orig, m.Raw, append(way, plainKey(name)), append(way, plainKey(to))); d != "" {
					t.Fatalf("%s of %q: %q became %q: %s", verb, name, orig, m.Raw, d)
				}
				once := slices.Clone(m.Raw)
				if change(m, at()); verb != "rename" && verb != "delete" && !bytes.Equal(m.Raw, once) {
					t.Fatalf("%s a second time made %q of %q", verb, m.Raw, once)
				}
				// Back to what it was, and to the change again.
				m.Restore(orig, nil)
				var fresh Message
				fresh.Parse(orig)
				if string(m.Raw) != string(orig) || len(m.Edits()) != 0 || m.Kind != fresh.Kind || m.Params != fresh.Params || m.Session == nil != (fresh.Session == nil) {
					t.Fatalf("%s: restored it is %+v, not %+v", verb, m, fresh)
				}
			}
		}
	})
}

// plainKey is a key as encoding/json decodes it.
func plainKey(s string) string {
	b, err := json.Marshal(s)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return s
	}
	return s
}

// FuzzDifferential holds the scan, and the parser that knows forms, against
// encoding/json on valid objects.
func FuzzDifferential(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"x","params":{"sessionId":"s"}}`))
	f.Add([]byte(`{"result":{"a":"\"}"},"id":"\u0041"}`))
	for _, line := range seeds.Frames() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &Parser{}
		checkScan(t, p, b)
		checkScan(t, p, b) // as one of its own form now
		var m Message
		p.Parse(&m, append(slices.Clone(b), '\n'))
		if m.Form == 0 {
			return
		}
		for _, text := range []string{"", `\\`, `\"`, "another one", `","id":1,"x":"`, `\`} {
			other := slices.Concat(m.Raw[:m.Varies.Off], []byte(text), m.Raw[m.Varies.End:])
			same(t, p, other)
			checkScan(t, p, other)
		}
	})
}

// checkScan fails where what a parser finds in b is not what encoding/json finds.
func checkScan(t *testing.T, p *Parser, b []byte) {
	t.Helper()
	var top map[string]json.RawMessage
	if json.Unmarshal(b, &top) != nil || top == nil {
		return
	}
	m := &Message{}
	p.Parse(m, b)
	if m.Twice {
		return // peers disagree on these
	}
	same := func(name string, s Span) {
		if want, ok := top[name]; ok != s.Found() || ok && !bytes.Equal(want, m.Text(s)) {
			t.Fatalf("%s of %q: scan %q, encoding/json %q", name, b, m.Text(s), want)
		}
	}
	same("id", m.ID)
	same("params", m.Params)
	same("result", m.Result)
	same("error", m.Error)
	// A text is compared where it is UTF-8: encoding/json puts U+FFFD for what is
	// not, and the scan keeps what the peer wrote.
	text := func(name string, in map[string]json.RawMessage, got string, found bool) {
		var want *string
		is := utf8.Valid(in[name]) && json.Unmarshal(in[name], &want) == nil && want != nil
		if is && (*want != got || !found) || !is && found && utf8.Valid(in[name]) {
			t.Fatalf("%s of %q: scan %q, encoding/json %q", name, b, got, in[name])
		}
	}
	text("method", top, m.Method, m.Method != "" || string(top["method"]) == `""`)
	var params map[string]json.RawMessage
	if json.Unmarshal(top["params"], &params) != nil {
		params = nil
	}
	text("sessionId", params, string(m.Session), m.SessionText.Found())
	if at := m.SessionText; at.Found() && !bytes.Equal(m.Text(at), params["sessionId"]) {
		t.Fatalf("sessionId of %q: scan %q", b, m.Text(at))
	}
}
