package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const updateFrame = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"content":{"text":"%s","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n"

// same fails where a Parser finds something else than a scan.
func same(t *testing.T, p *Parser, raw []byte) {
	t.Helper()
	var got, want Message
	p.Parse(&got, raw)
	want.Parse(raw)
	if got.Form != 0 {
		// In its place stands any other text.
		v := got.Varies
		if v.Off < 1 || raw[v.Off-1] != '"' || StringEnd(raw, v.Off-1) != v.End+1 {
			t.Fatalf("%q varies at %v", raw, v)
		}
	}
	got.Form, got.Varies = 0, Span{}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q\nparser %+v\nscan   %+v", raw, got, want)
	}
}

func TestParser(t *testing.T) {
	p := &Parser{}
	for _, text := range []string{"HELLO ACP.", "", "x", strings.Repeat("long ", 1000), `a \"quote\"`, `\\`, `ends with a backslash \\`, `\u00e9`, "é", `"`, `", "sessionId":"b`, `\`, "HELLO"} {
		for _, session := range []string{"a", "b", `c\u0041`} {
			same(t, p, fmt.Appendf(nil, updateFrame, session, text))
		}
	}
	for _, frame := range []string{
		// The session behind the text, and what looks like another frame's form.
		`{"method":"session/update","params":{"update":{"content":{"text":"%s"}},"sessionId":"s"}}`,
		`{"params":{"text":"%s","sessionId":"s"},"method":"m","x":1}`,
		`{"method":"m","params":{"sessionId":"s","text":"%s"},"id":7}`,
		`{"method":"m","text":"%s","params":{"sessionId":"s"}}`,
		`{"method":"m","params":{"sessionId":"s","a":{"text":"%s"},"b":{"text":"second"}}}`,
		`{"method":"m","params":{"sessionId":"s","sessionId":"t","text":"%s"}}`,
		// No JSON: what looks like the text's beginning ends another string.
		`{"method":"m","params":{"sessionId":"s","a":{"b:"text","text":"%s"}}}`,
		`  {"method" : "m", "params" : {"sessionId" : "s", "text":"%s" } } `,
	} {
		for _, text := range []string{"one", "two", "", `x","id":9,"y":"`, `\"`, "three"} {
			same(t, p, fmt.Appendf(nil, frame+"\n", text))
			same(t, p, fmt.Appendf(nil, frame, text))
		}
	}
}

// FuzzParser holds the Parser to the scan, for frames that are alike and not quite.
func FuzzParser(f *testing.F) {
	f.Add([]byte(`{"method":"m","params":{"sessionId":"s","text":"`), []byte(`"}}`+"\n"), []byte("one"), []byte("two"))
	f.Add([]byte(`{"params":{"text":"`), []byte(`","sessionId":"s"},"method":"m"}`), []byte(`\`), []byte(`"`))
	f.Fuzz(func(t *testing.T, head, tail, one, two []byte) {
		p := &Parser{}
		for _, text := range [][]byte{one, two, one, nil, append(append([]byte{}, one...), two...)} {
			raw := append(append(append([]byte{}, head...), text...), tail...)
			same(t, p, raw)
		}
	})
}

func TestParserAllocatesNothing(t *testing.T) {
	p, m := &Parser{}, &Message{}
	frames := [][]byte{fmt.Appendf(nil, updateFrame, "a", "one"), fmt.Appendf(nil, updateFrame, "b", "two")}
	if n := testing.AllocsPerRun(1000, func() {
		for _, f := range frames {
			p.Parse(m, f)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParser(b *testing.B) {
	p, m := &Parser{}, &Message{}
	frame := fmt.Appendf(nil, updateFrame, "4d5a6c89-0be5-4d98-ac4d-dede75c780fe", "HELLO ACP.")
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		p.Parse(m, frame)
	}
}

func TestForms(t *testing.T) {
	p, m := &Parser{}, &Message{}
	found := 0
	words := &ByForm[bool]{}
	has := func(m *Message) bool { found++; return strings.Contains(string(m.Raw), "_meta") }
	form := map[string]uint32{}
	for _, f := range []struct{ session, text string }{{"a", "one"}, {"a", "two"}, {"b", "one"}, {"a", ""}, {"b", "_meta"}} {
		p.Parse(m, fmt.Appendf(nil, updateFrame, f.session, f.text))
		if m.Form == 0 || form[f.session] != 0 && form[f.session] != m.Form || string(m.Text(m.Varies)) != f.text {
			t.Errorf("%v: %d, %q", f, m.Form, m.Text(m.Varies))
		}
		form[f.session] = m.Form
		if words.Of(m, has) {
			t.Errorf("%v: the text counts", f)
		}
	}
	if found != 2 || form["a"] == form["b"] {
		t.Errorf("looked at %d frames; %v", found, form)
	}
	if m.Set(m.SessionText, `"c"`); m.Form != 0 || m.Varies.Found() {
		t.Error("a changed frame still has a form")
	}
	m.Parse([]byte(`{"method":"x"}`))
	if words.Of(m, has); found != 3 {
		t.Error("a frame without a form was not looked at")
	}
}
