package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

var everything = Wire{Both: true}

func TestGolden(t *testing.T) {
	run := testdata(t, "run.jsonl")
	for name, make := range map[string]func(out *bytes.Buffer) Exporter{
		"client.jsonl": func(out *bytes.Buffer) Exporter { return &Plain{Wire: everything, Out: out} },
		"agent.jsonl":  func(out *bytes.Buffer) Exporter { return &Plain{Wire: Wire{At: Agent, Both: true}, Out: out} },
		"run.md":       func(out *bytes.Buffer) Exporter { return &Transcript{Out: out} },
		"run.jsons":    func(out *bytes.Buffer) Exporter { return &Viewer{Out: out} },
		"inspector.jsonl": func(out *bytes.Buffer) Exporter {
			count := Count{Wire: everything}
			export(t, run, &count)
			return &Inspector{Count: count, Out: out, Now: time.UnixMilli(1796054240377)}
		},
		"otlp.jsonl":         func(out *bytes.Buffer) Exporter { return spansTo(out, false) },
		"otlp.content.jsonl": func(out *bytes.Buffer) Exporter { return spansTo(out, true) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			export(t, run, make(&out))
			golden(t, name, out.Bytes())
			for _, secret := range []string{"ghp_A1b2", "Zq8vKx2m", "abcdef0123456789", "Kx2mNp4r"} {
				// A format of single frames cannot see a secret that two chunks share.
				if strings.Contains(secret, "Kx2mNp4r") && !strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, "otlp") {
					continue
				}
				if strings.Contains(out.String(), secret) {
					t.Errorf("%s is in it", secret)
				}
			}
		})
	}
}

func TestSidesOfTheWire(t *testing.T) {
	run := testdata(t, "run.jsonl")
	// lines are the frames of the capture in which one of two ends is peer's.
	for _, c := range []struct {
		wire Wire
		want func(r *trace.Record) []byte
	}{
		{Wire{At: Client, Both: true, Raw: true}, func(r *trace.Record) []byte {
			switch {
			case r.From == proxy.Client && !r.Again:
				return r.Received()
			case r.To == proxy.Client:
				return r.Sent()
			}
			return nil
		}},
		{Wire{At: Client, OnlyFrom: Client, Raw: true}, func(r *trace.Record) []byte {
			if r.From == proxy.Client && !r.Again {
				return r.Received()
			}
			return nil
		}},
		{Wire{At: Client, OnlyFrom: Agent, Raw: true}, func(r *trace.Record) []byte {
			if r.To == proxy.Client {
				return r.Sent()
			}
			return nil
		}},
		{Wire{At: Agent, OnlyFrom: Client, Raw: true}, func(r *trace.Record) []byte {
			if r.To.Gen() > 0 {
				return r.Sent()
			}
			return nil
		}},
		{Wire{At: Agent, OnlyFrom: Agent, Raw: true}, func(r *trace.Record) []byte {
			if r.From.Gen() > 0 {
				return r.Received()
			}
			return nil
		}},
	} {
		var want, got bytes.Buffer
		for r, err := range trace.Read(record.Read(bytes.NewReader(run))) {
			if err != nil {
				t.Fatal(err)
			}
			if r.IsFrame() {
				want.Write(c.want(r))
			}
		}
		export(t, run, &Plain{Wire: c.wire, Out: &got})
		if want.Len() == 0 || !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Errorf("%+v:\n%s\nwant\n%s", c.wire, got.Bytes(), want.Bytes())
		}
	}
}

// TestViewerPairs pairs requests with answers as viewer.html does, by receiver and
// id, where no two requests may have the same.
func TestViewerPairs(t *testing.T) {
	for name, capture := range demos(t) {
		var out bytes.Buffer
		export(t, append(bytes.Clone(capture), capture...), &Viewer{Out: &out})
		asked, answered := map[string]bool{}, 0
		last := 0.0
		for line := range strings.Lines(out.String()) {
			var e struct {
				TS       *float64
				Type     string
				Protocol string
				From, To string
				ID       json.RawMessage
				Method   *string
				Params   json.RawMessage
				IsError  *bool `json:"is_error"`
				Payload  json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil || !utf8.ValidString(line) {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			if e.TS == nil || *e.TS < last || e.From == e.To {
				t.Errorf("%s: %s", name, line)
			}
			last = *e.TS
			for _, c := range []string{e.From, e.To} {
				if c != "client" && c != "proxy:0" && c != "agent" {
					t.Errorf("%s: component %q", name, c)
				}
			}
			switch e.Type {
			case "request":
				key := fmt.Sprintf("%s:%s", e.To, e.ID)
				if asked[key] {
					t.Errorf("%s: two requests are %s", name, key)
				}
				asked[key] = true
				fallthrough
			case "notification":
				if e.Protocol != "acp" || e.Method == nil || e.Params == nil {
					t.Errorf("%s: %s", name, line)
				}
			case "response":
				answered++
				if !asked[fmt.Sprintf("%s:%s", e.From, e.ID)] {
					t.Errorf("%s: nobody asked for %s", name, line)
				}
				if e.IsError == nil || e.Payload == nil {
					t.Errorf("%s: %s", name, line)
				}
			default:
				t.Errorf("%s: type %q", name, e.Type)
			}
		}
		if answered < 10 {
			t.Errorf("%s: %d answers", name, answered)
		}
	}
}

// TestViewerHostile: the viewer puts a method into its page as it is, and is lost
// where one line is not UTF-8.
func TestViewerHostile(t *testing.T) {
	capture := header + `{"seq":1,"t":1,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","method":"<img src=x onerror=1>","params":{}}}
{"seq":2,"t":2,"from":"client","to":"agent#1","base64":"eyJqc29ucnBjIjoiMi4wIiwibWV0aG9kIjoieCIsInBhcmFtcyI6WyL/Il19"}
{"seq":3,"t":3,"from":"agent#1","to":null,"text":"Opening in existing browser session.","why":"noise"}
`
	var out bytes.Buffer
	export(t, []byte(capture), &Viewer{Out: &out})
	if got := out.String(); strings.Contains(got, "<img") || !utf8.ValidString(got) || strings.Count(got, "\n") != 4 {
		t.Errorf("%s", got)
	}
}

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0.2.0","pid":1,"redacted":false,"agent":{}}
`

func TestInspectorCounts(t *testing.T) {
	capture := header + `{"seq":1,"t":1,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","method":"a"}}
{"seq":4,"t":2,"event":"gap","data":{"frames":2,"events":0,"bytes":10,"first":2,"last":3,"why":"slow"}}
{"seq":5,"t":3000000,"from":"agent#2","to":"client","base64":"/w=="}
` + header + `{"seq":1,"t":1,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","method":"a"}}
`
	for _, at := range []Side{Client, Agent} {
		count := Count{Wire: Wire{At: at, Both: true}}
		export(t, []byte(capture), &count)
		if count.Frames != 3 || count.Dropped != 2 {
			t.Errorf("%+v", count)
		}
		var out bytes.Buffer
		export(t, []byte(capture), &Inspector{Count: count, Out: &out, Now: time.UnixMilli(5)})
		lines := strings.Split(out.String(), "\n")
		want := []string{`"frames":3,"dropped":2`, `"connection":1,`, `"connection":1,"direction":"agent -> client","encoding":"base64","frame":"/w=="`, `"connection":2,`, ""}
		if at == Agent { // each process is one
			want[2], want[3] = `"connection":2,`, `"connection":3,`
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines: %s", len(lines), out.String())
		}
		for i, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %d is %s, want %s", i, lines[i], w)
			}
		}
	}
}

// TestTranscriptIsBounded: a turn that never ends, or never stops, keeps what it
// may, and says what is not there.
func TestTranscriptIsBounded(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString(`{"seq":1,"t":1,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}}` + "\n")
	word := strings.Repeat("word ", 2000)
	for i := range 100 {
		fmt.Fprintf(&b, `{"seq":%d,"t":%d,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}}`+"\n", i+2, i+2, word)
	}
	var out bytes.Buffer
	export(t, b.Bytes(), &Transcript{Out: &out})
	if n := out.Len(); n < maxText || n > maxText+2000 {
		t.Errorf("%d bytes", n)
	}
	for _, want := range []string{"cut off by the end of the capture", "738 kB more)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the end: %s", want, out.String()[max(out.Len()-300, 0):])
		}
	}
}

// TestMarkup: nothing of the peers' is markup, leaves its fence, or reaches a
// terminal as control.
func TestMarkup(t *testing.T) {
	evil := "````\n</details><script>x</script>\n# heading\x1b[2J \u202e \r\n`````"
	got := block("text", evil)
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if lines[0] != "``````text" || lines[len(lines)-1] != "``````" || strings.ContainsAny(got, "\x1b\u202e\r") {
		t.Errorf("%q", got)
	}
	if got := code("a`b\n|c\x1b"); got != "`aˋb↵¦c\\x1b`" {
		t.Errorf("%q", got)
	}
	if got := html(`<b a="1">&`); got != "&lt;b a=&quot;1&quot;&gt;&amp;" {
		t.Errorf("%q", got)
	}
}

// TestHostileTranscript: whatever a peer says, wherever it says it, is in a block or
// a span of code, or is escaped.
func TestHostileTranscript(t *testing.T) {
	evil := "<img src=x onerror=alert(1)>`|\n# h\n````\n</details>\x1b[31m\u202e"
	v, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	capture := strings.ReplaceAll(header, `"agent":{}`, `"agent":{"name":EVIL,"argv":[EVIL]}`) +
		`{"seq":1,"t":1,"event":"EVENT","agent":"agent#1","text":EVIL}
{"seq":2,"t":2,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":EVIL,"clientInfo":{"name":EVIL,"version":EVIL},"clientCapabilities":{"x":EVIL}}}}
{"seq":3,"t":3,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":EVIL,"agentInfo":{"name":EVIL,"version":EVIL},"agentCapabilities":{"x":EVIL}}}}
{"seq":4,"t":4,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":2,"method":EVIL,"params":{"sessionId":EVIL}}}
{"seq":5,"t":5,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":EVIL}}}
{"seq":6,"t":6,"from":"agent#1","to":null,"text":EVIL,"why":EVIL}
{"seq":7,"t":7,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":EVIL,"prompt":[{"type":"text","text":EVIL},{"type":EVIL}]}}}
{"seq":8,"t":8,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":EVIL,"update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":EVIL}}}}}
{"seq":9,"t":9,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":EVIL,"update":{"sessionUpdate":"tool_call","toolCallId":EVIL,"title":EVIL,"kind":EVIL,"status":"failed","rawInput":EVIL,"rawOutput":EVIL}}}}
{"seq":10,"t":10,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":4,"method":"session/request_permission","params":{"sessionId":EVIL,"toolCall":{"title":EVIL},"options":[{"optionId":EVIL}]}}}
{"seq":11,"t":11,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":4,"result":{"outcome":{"outcome":"selected","optionId":EVIL}}}}
{"seq":12,"t":12,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":3,"result":{"stopReason":EVIL}}}
{"seq":13,"t":13,"event":"stderr","agent":"agent#1","text":EVIL}
{"seq":14,"t":14,"event":"exit","agent":"agent#1","text":EVIL}
`
	capture = strings.ReplaceAll(capture, "EVIL", string(v))
	var out bytes.Buffer
	export(t, []byte(capture), &Transcript{Out: &out})
	fence, left := "", ""
	for line := range strings.Lines(out.String()) {
		bare := strings.TrimRight(line, "\n")
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case fence != "":
			if bare == fence {
				fence = ""
			}
		case len(ticks) >= 3:
			fence = ticks
		default:
			for i, part := range strings.Split(bare, "`") {
				if i%2 == 0 {
					left += part
				}
			}
			left += "\n"
		}
	}
	if fence != "" {
		t.Error("a block is not closed")
	}
	for _, tag := range []string{"<details>", "</details>", "<summary>", "</summary>"} {
		left = strings.ReplaceAll(left, tag, "")
	}
	if strings.ContainsAny(left, "<>") || strings.Contains(left, "onerror") && !strings.Contains(left, "&lt;img") {
		t.Errorf("outside of code there is\n%s", left)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") || strings.Count(out.String(), "onerror") < 20 {
		t.Errorf("it is\n%s", out.String())
	}
	if n, want := strings.Count(left, "\n# "), 0; n != want {
		t.Errorf("%d headings are the peers'", n)
	}
}
