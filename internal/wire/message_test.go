package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func parse(s string) *Message {
	m := &Message{}
	m.Parse([]byte(s))
	return m
}

func TestParse(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	for _, c := range []struct {
		name, in            string
		kind                Kind
		id, method, session string
		twice               bool
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`, Request, "1", "session/prompt", "s", false},
		{"id last", `{"method":"x","params":{"a":{"sessionId":"no"}},"id":"q"}`, Request, `"q"`, "x", "", false},
		{"session behind the prompt", `{"id":1.0,"method":"session/prompt","params":{"prompt":[{"a":"}\""}],"sessionId":"s"}}`, Request, "1.0", "session/prompt", "s", false},
		{"no name", `{"id":"E","method":"","params":{}}`, Request, `"E"`, "", "", false},
		{"no name, no id", `{"method":""}`, Notification, "", "", "", false},
		{"no method", `{"id":1,"method":null,"result":{}}`, Response, "1", "", "", false},
		{"null id", `{"id":null,"method":"x"}`, Request, "null", "x", "", false},
		{"notification", ` { "method" : "session/cancel" , "params" : { "sessionId" : "s" } } ` + "\r\n", Notification, "", "session/cancel", "s", false},
		{"result", `{"id":18446744073709551616,"result":{}}`, Response, "18446744073709551616", "", "", false},
		{"error without id", `{"error":{"code":1}}`, Response, "", "", "", false},
		{"escaped method", `{"method":"session\/prompt","id":1}`, Request, "1", "session/prompt", "", false},
		{"escaped key", `{"\u006dethod":"x","id":1}`, Request, "1", "x", "", false},
		{"escaped session", `{"method":"x","params":{"session\u0049d":"a\u00e9\n"}}`, Notification, "", "x", "aé\n", false},
		{"id twice", `{"id":1,"method":"x","id":2}`, Request, "2", "x", "", true},
		{"session twice", `{"method":"x","params":{"sessionId":"a","sessionId":"b"}}`, Notification, "", "x", "b", true},
		{"params is a list", `{"method":"x","params":[1,2]}`, Notification, "", "x", "", false},
		{"a number for a session", `{"method":"x","params":{"sessionId":7}}`, Notification, "", "x", "", false},
		{"batch", ` [{"id":1,"method":"x"}]`, Batch, "", "", "", false},
		{"blank", " \t\r\n", Blank, "", "", "", false},
		{"empty", "", Blank, "", "", "", false},
		{"noise", "Opening in existing browser session.\n", Noise, "", "", "", false},
		{"byte order mark", "\xef\xbb\xbf{\"id\":1,\"method\":\"x\"}", Noise, "", "", "", false},
		{"cut short", `{"id":1,"method":"x"`, Opaque, "1", "x", "", false},
		{"cut in a string", `{"id":1,"method":"x`, Opaque, "1", "", "", false},
		{"goes on", `{"id":1,"method":"x"} {}`, Opaque, "1", "x", "", false},
		{"an answer that says nothing", `{"id":1,"x":2}`, Response, "1", "", "", false},
		{"nothing in it", `{}`, Opaque, "", "", "", false},
		{"deep", `{"id":1,"method":"x","params":{"a":` + deep + `,"sessionId":"s"}}`, Request, "1", "x", "s", false},
		{"invalid UTF-8", "{\"id\":1,\"method\":\"x\",\"params\":{\"t\":\"\xff\",\"sessionId\":\"\xfe\"}}", Request, "1", "x", "\xfe", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(c.in)
			id := string(m.Text(m.ID))
			if m.Kind != c.kind || id != c.id || m.Method != c.method || string(m.Session) != c.session || m.Twice != c.twice {
				t.Errorf("got %v id=%s method=%q session=%q twice=%v", m.Kind, id, m.Method, m.Session, m.Twice)
			}
			if string(m.Raw) != c.in {
				t.Error("the bytes changed")
			}
		})
	}
}

func TestSplice(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		edit           func(m *Message) bool
	}{
		{"rename", `{"id":1, "method":"a","params":{ "method" : "k" , "x":1.0}}` + "\r\n", `{"id":1, "method":"a","params":{ "methodId" : "k" , "x":1.0}}` + "\r\n",
			func(m *Message) bool { return m.Rename(m.Params, "method", "methodId") }},
		{"rename onto a taken name", `{"id":1,"method":"a","params":{"x":1,"y":2}}`, "",
			func(m *Message) bool { return m.Rename(m.Params, "x", "y") }},
		{"rename onto a name that is taken twice", `{"id":1,"method":"a","params":{"x":1,"y":2,"y":3}}`, "",
			func(m *Message) bool { return m.Rename(m.Params, "x", "y") }},
		{"rename a key given twice", `{"id":1,"method":"a","params":{"x":1,"x":2}}`, "",
			func(m *Message) bool { return m.Rename(m.Params, "x", "y") }},
		{"rename an escaped key", `{"id":1,"method":"a","params":{"\u0078":1}}`, `{"id":1,"method":"a","params":{"y":1}}`,
			func(m *Message) bool { return m.Rename(m.Params, "x", "y") }},
		{"add to empty", `{"id":1,"method":"a","params":{ }}`, `{"id":1,"method":"a","params":{"l":[] }}`,
			func(m *Message) bool { return m.Add(m.Params, "l", "[]") }},
		{"add", `{"id":1,"method":"a","params":{"x":{"y":1} }}`, `{"id":1,"method":"a","params":{"x":{"y":1},"l":[] }}`,
			func(m *Message) bool { return m.Add(m.Params, "l", "[]") }},
		{"delete first", `{"id":1,"method":"a","params":{"x":1, "y":2}}`, `{"id":1,"method":"a","params":{"y":2}}`,
			func(m *Message) bool { return m.Delete(m.Params, "x") }},
		{"delete last", `{"id":1,"method":"a","params":{"x":1, "y":2}}`, `{"id":1,"method":"a","params":{"x":1}}`,
			func(m *Message) bool { return m.Delete(m.Params, "y") }},
		{"delete only", `{"id":1,"method":"a","params":{"x":1}}`, `{"id":1,"method":"a","params":{}}`,
			func(m *Message) bool { return m.Delete(m.Params, "x") }},
		{"not valid", `{"id":1,"method":"a","params":{"x":01}}`, "",
			func(m *Message) bool { return m.Rename(m.Params, "x", "y") }},
		{"id twice", `{"id":1,"id":2,"method":"a","params":{"x":1}}`, "",
			func(m *Message) bool { return m.Rename(m.Params, "x", "y") }},
		{"an element", `{"id":1,"method":"a","params":{"l":[ {"a":"]"} , 2 ]}}`, `{"id":1,"method":"a","params":{"l":[ {"a":"]"} , 3 ]}}`,
			func(m *Message) bool {
				l, _ := m.At(m.Params, "l")
				return m.Set(m.Elements(l)[1], "3")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			m := &Message{}
			m.Parse(in)
			ok := c.edit(m)
			if ok != (c.want != "") {
				t.Fatalf("edit says %v", ok)
			}
			want := c.want
			if !ok {
				want = c.in
			}
			if string(m.Raw) != want {
				t.Errorf("got  %s\nwant %s", m.Raw, want)
			}
			if string(in) != c.in {
				t.Error("the buffer it came in was written to")
			}
			if got := Undo(m.Raw, m.Edits()); string(got) != c.in {
				t.Errorf("undone: %s", got)
			}
		})
	}
}

// TestClone proves that a held frame survives the reader's next read.
func TestClone(t *testing.T) {
	buf := []byte(`{"id":"a","method":"session/prompt","params":{"sessionId":"s"}}`)
	m := &Message{}
	m.Parse(buf)
	c := m.Clone()
	for i := range buf {
		buf[i] = 'x'
	}
	if string(c.Session) != "s" || string(c.Text(c.ID)) != `"a"` {
		t.Errorf("clone changed with the buffer: %s", c.Raw)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	frame := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"4d5a6c89-0be5-4d98-ac4d-dede75c780fe","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n")
	m := &Message{}
	if n := testing.AllocsPerRun(1000, func() { m.Parse(frame) }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+7,"\u00e9\n",true,null,{}]}`, `[`, `{"a"}`, `01`, `"\x"`, "\"\t\"", ` [ ] `, `{"a":1,}`, "1 2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) >= 10000 {
			t.Skip("beyond the depth that encoding/json takes")
		}
		if got, want := Valid(b), json.Valid(b); got != want {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", b, got, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	frame := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"4d5a6c89-0be5-4d98-ac4d-dede75c780fe","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	m := &Message{}
	for b.Loop() {
		m.Parse(frame)
	}
}

func BenchmarkValid(b *testing.B) {
	frame := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"4d5a6c89-0be5-4d98-ac4d-dede75c780fe","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		Valid(frame)
	}
}

// TestPlain has it find what a look at each byte finds, wherever that stands.
func TestPlain(t *testing.T) {
	slow := func(b []byte, i int) int {
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++
		}
		return i
	}
	for c := range 256 {
		for at := range 20 {
			for next := range 256 {
				b := bytes.Repeat([]byte{'x'}, 20)
				b[at] = byte(c)
				b[(at+1)%20] = byte(next)
				for _, from := range []int{0, 3} {
					if got, want := Plain(b, from), slow(b, from); got != want {
						t.Fatalf("%q from %d: %d, and not %d", b, from, got, want)
					}
				}
			}
		}
	}
}
