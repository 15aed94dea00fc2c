package exchange

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/trace"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
	"acp-shim/record"
)

// imported is a recording as a capture.
func imported(t *testing.T, im Import, recording []byte) (list []*trace.Record, done Imported) {
	t.Helper()
	var out bytes.Buffer
	im.Name = "x.jsonl"
	done, err := im.Run(bytes.NewReader(recording), &out)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range trace.Read(record.Read(&out)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list, done
}

// TestRoundTrip: what crossed the client's end comes back from an export byte for
// byte, and each line is given to the side that had sent it.
func TestRoundTrip(t *testing.T) {
	for name, capture := range demos(t) {
		var plain bytes.Buffer
		export(t, capture, &Plain{Wire: Wire{Both: true, Raw: true}, Out: &plain})
		var sides []Side
		for r, err := range trace.Read(record.Read(bytes.NewReader(capture))) {
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := everything.Of(r); ok {
				sides = append(sides, c.From)
			}
		}
		recapture := &bytes.Buffer{}
		done, err := Import{Name: name, Infer: true}.Run(bytes.NewReader(plain.Bytes()), recapture)
		if err != nil || done.Damaged > 0 || done.Frames != len(sides) {
			t.Fatalf("%s: %v, %+v", name, err, done)
		}
		var again bytes.Buffer
		export(t, recapture.Bytes(), &Plain{Wire: Wire{Both: true, Raw: true}, Out: &again})
		if !bytes.Equal(plain.Bytes(), again.Bytes()) {
			t.Errorf("%s: it came back as\n%s", name, again.Bytes())
		}
		n := 0
		for r := range trace.Read(record.Read(bytes.NewReader(recapture.Bytes()))) {
			if c, ok := everything.Of(r); ok {
				if c.From != sides[n] {
					t.Errorf("%s: %s is said to be the %v's", name, r.Body, c.From)
				}
				n++
			}
		}
		// The trace of acp-inspector says whose each frame is, and when it came.
		var inspector bytes.Buffer
		count := Count{Wire: Wire{Both: true, Raw: true}}
		export(t, capture, &count)
		export(t, capture, &Inspector{Count: count, Out: &inspector})
		recapture.Reset()
		if done, err = (Import{Name: name, Infer: true}).Run(&inspector, recapture); err != nil || !done.Timed {
			t.Fatalf("%s: %v, %+v", name, err, done)
		}
		again.Reset()
		export(t, recapture.Bytes(), &Plain{Wire: Wire{Both: true, Raw: true}, Out: &again})
		if !bytes.Equal(plain.Bytes(), again.Bytes()) {
			t.Errorf("%s: by acp-inspector it came back as\n%s", name, again.Bytes())
		}
	}
}

// TestBytes: a stream of one side comes back byte for byte, whatever is in it.
func TestBytes(t *testing.T) {
	stream := "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n" +
		"  {\"jsonrpc\" : \"2.0\", \"method\":\"x\",\"params\":{\"b\":1e400,\"a\":\"\\u00e9\"}}\t \n" +
		"Open https://accounts.example/?state=1 in your browser\n" +
		"\xff\xfe not text\n" +
		"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]\n" +
		"{\"jsonrpc\":\"2.0\",\"method\":\"deep\",\"params\":" + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}\n" +
		"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[\"" + strings.Repeat("[", 2000) + "\xff\"]}\n" +
		"{\"jsonrpc\":\"2.0\",\"method\":\"last\"}"
	list, _ := imported(t, Import{From: Agent}, []byte(stream))
	var got bytes.Buffer
	for _, r := range list {
		if !r.IsFrame() {
			continue
		}
		if r.From != proxy.AgentPeer(1) {
			t.Errorf("%s is not the agent's", r.Body)
		}
		got.Write(r.Sent())
	}
	if got.String() != stream {
		t.Errorf("%q\nwant\n%q", got.String(), stream)
	}
}

func TestLabels(t *testing.T) {
	frame := `{"jsonrpc":"2.0","id":1,"result":{}}`
	at := time.Date(2026, 11, 30, 11, 20, 0, 123_000_000, time.UTC)
	for line, want := range map[string]message{
		frame: {},
		`{"from":"client","raw":` + fmt.Sprintf("%q", frame) + `}`:                                        {from: Client, labelled: true},
		`{"dir":"agent","ts":"2026-11-30T11:20:00.123Z","message":` + frame + `}`:                         {from: Agent, labelled: true, when: moment{at: at, kind: absolute}},
		`{"direction":"editor-to-agent","timestamp":1796037600123,"frame":` + frame + `}`:                 {from: Client, labelled: true, when: moment{at: at, kind: absolute}},
		`{"direction":"agent -> client","at":1796037600.123,"encoding":"utf8","data":` + frame + `}`:      {from: Agent, labelled: true, when: moment{at: at, kind: absolute}},
		`{"direction":"out","t":1796037600123000,"msg":` + frame + `}`:                                    {when: moment{at: at, kind: absolute}},
		`{"direction":"→","time":1796037600123000000,"line":` + fmt.Sprintf("%q", frame) + `}`:            {from: Client, labelled: true, when: moment{at: at, kind: absolute}},
		`{"side":"server","t":1.5,"payload":` + frame + `}`:                                               {from: Agent, labelled: true, when: moment{after: 1500 * time.Millisecond, kind: relative}},
		`{"source":"stdin","t":1500,"payload":` + frame + `}`:                                             {from: Client, labelled: true, when: moment{after: 1500 * time.Millisecond, kind: relative}},
		`{"from":"agent","encoding":"base64","frame":"eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6e319"}`: {from: Agent, labelled: true},
	} {
		m, err := unwrap([]byte(line + "\n"))
		if err != nil || strings.TrimSpace(string(m.line)) != frame || m.from != want.from || m.labelled != want.labelled ||
			!m.when.at.Equal(want.when.at) || m.when.after != want.when.after || m.when.kind != want.when.kind {
			t.Errorf("%s is %+v, %v: %s", line, m, err, m.line)
		}
	}
	for _, line := range []string{`{"ts":1,"type":"request","protocol":"acp","from":"client","to":"agent","id":1,"method":"x","params":{}}`, `{"a":1}`, `"x"`, `1`, `nonsense`, `{"from":"agent","encoding":"base64","frame":"*"}`} {
		if m, err := unwrap([]byte(line)); err == nil {
			t.Errorf("%s is %+v", line, m)
		}
	}
}

// TestSides: methods tell, and answers belong to who was asked, also where both
// sides count from 0.
func TestSides(t *testing.T) {
	s := sides{open: map[asked]bool{}}
	for i, c := range []struct {
		from Side
		line string
	}{
		{Client, `{"id":0,"method":"initialize"}`},
		{Agent, `{"id":0,"result":{}}`},
		{Client, `{"id":1,"method":"session/prompt"}`},
		{Agent, `{"method":"session/update"}`},
		{Agent, `{"method":"_vendor/progress"}`},
		{Agent, `{"id":1,"method":"session/request_permission"}`},
		{Client, `{"id":1,"result":{"outcome":{"outcome":"cancelled"}}}`}, // both have an open 1
		{Agent, `{"id":2,"method":"fs/read_text_file"}`},
		{Client, `{"id":2,"result":{"content":"x"}}`},
		{Agent, `{"id":3,"method":"terminal/create"}`},
		{Client, `{"id":3,"error":{"code":-32601}}`}, // only the agent has an open 3
		{Agent, `{"id":"4","method":"elicitation/create"}`},
		{Agent, `{"method":"$/cancel_request","params":{"requestId":"4"}}`},
		{Client, `{"method":"$/cancel_request","params":{"requestId":1}}`},
		{Client, `{"method":"session/cancel"}`},
		{Client, `{"id":9,"method":"_vendor/ask"}`},
		{Agent, `{"id":1,"result":{"stopReason":"cancelled"}}`},
		{Agent, `{"id":77,"result":{"sessionId":"s"}}`}, // nobody has asked
		{Client, `{"id":77,"result":{"terminalId":"t"}}`},
	} {
		var m wire.Message
		m.Parse([]byte(c.line))
		if got := s.of(&m); got != c.from {
			t.Errorf("%d: %s is said to be the %v's", i, c.line, got)
		}
		s.see(&m, c.from)
	}
}

// TestTimes: times are kept, never go back, and where there are none the order is
// to be seen.
func TestTimes(t *testing.T) {
	frame := `"frame":{"jsonrpc":"2.0","method":"x"}}` + "\n"
	list, done := imported(t, Import{Infer: true}, []byte(`{"ts":1796037600000,`+frame+`{"ts":1796037601500,`+frame+`{"ts":1796037601000,`+frame+`{`+frame))
	if !done.Timed || !list[0].Header.Start.Equal(time.UnixMilli(1796037600000)) {
		t.Errorf("%+v, %v", done, list[0].Header.Start)
	}
	for i, want := range []time.Duration{0, 1500 * time.Millisecond, 1500 * time.Millisecond, 1500*time.Millisecond + time.Microsecond} {
		if got := list[2+i].T; got != want {
			t.Errorf("frame %d is at %v, want %v", i, got, want)
		}
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	list, done = imported(t, Import{Infer: true, Start: start}, []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"x"}`+"\n", 2)))
	if done.Timed || !list[0].Header.Start.Equal(start) || list[2].T >= list[3].T || !strings.Contains(string(list[4].Text), "no times") {
		t.Errorf("%+v, %v, %v, %s", done, list[2].T, list[3].T, list[4].Text)
	}
}

func TestImportTellsOfDamage(t *testing.T) {
	var told []int
	im := Import{Infer: true, Damaged: func(err *record.LineError) { told = append(told, err.Line) }}
	good := `{"jsonrpc":"2.0","method":"x"}` + "\n"
	_, done := imported(t, im, []byte(good+"noise\n"+good+`{"a":1}`+"\n\n"+good+`{"jsonrpc":"2.0","met`))
	if done.Frames != 3 || done.Damaged != 2 || fmt.Sprint(told) != "[2 4]" {
		t.Errorf("%+v, %v", done, told)
	}
	for recording, want := range map[string]string{
		"":                            "no JSON-RPC message",
		"a\nb\n":                      "no JSON-RPC message",
		header:                        "a capture already",
		`{"version":2,"messages":[]}`: "version 2",
		`{"version":1,"messages":[]}`: "no JSON-RPC message",
		`{"version":1,"messages":{}}`: "must be an array",
		`{"version":1,"session":{"startedAt":"x"}}`:             "x",
		`{"format":"something else"}` + "\n":                    "not known",
		`{"version":1,"messages":[{"seq":1,"raw":"{}"}],"x":1}`: "no JSON-RPC message",
	} {
		_, err := Import{Name: "x", Infer: true}.Run(strings.NewReader(recording), &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", recording, err, want)
		}
	}
}

// devtoolsExport has the shape that serializeExport of acp-devtools gives.
const devtoolsExport = `{
    "version": 1,
    "exportedAt": 1796037700000,
    "tool": {
        "name": "acp-devtools",
        "version": "0.4.0"
    },
    "session": {
        "id": 3,
        "name": "a try",
        "agentCommand": "gemini --acp",
        "clientName": null,
        "startedAt": 1796037600000,
        "endedAt": null
    },
    "messages": [
        {
            "seq": 1,
            "timestamp": 1796037600010,
            "direction": "editor-to-agent",
            "kind": "request",
            "raw": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}",
            "payload": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
            "method": "initialize",
            "rpcId": 1
        },
        {
            "seq": 2,
            "timestamp": 1796037600510,
            "direction": "agent-to-editor",
            "kind": "response",
            "raw": "{\"jsonrpc\":\"2.0\",  \"id\":1,\"result\":{\"protocolVersion\":1}}",
            "payload": null,
            "rpcId": 1
        },
        {
            "seq": 3,
            "timestamp": 1796037600600,
            "direction": "agent-to-editor",
            "kind": "unknown",
            "raw": "Loaded cached credentials.",
            "payload": null,
            "parseError": "Unexpected token"
        }
    ]
}
`

func TestDevtools(t *testing.T) {
	list, done := imported(t, Import{Infer: true}, []byte(devtoolsExport))
	if done.Format != "acp-devtools" || done.Frames != 3 || done.Sides != [2]int{1, 2} || done.Damaged != 0 {
		t.Errorf("%+v", done)
	}
	h := list[0].Header
	if h.Agent.Name != "a try" || fmt.Sprint(h.Agent.Argv) != "[gemini --acp]" || !h.Start.Equal(time.UnixMilli(1796037600000)) {
		t.Errorf("%+v", h)
	}
	if note := string(list[1].Text); note != "imported from x.jsonl (acp-devtools, acp-devtools 0.4.0)" {
		t.Errorf("%s", note)
	}
	if r := list[3]; string(r.Body) != `{"jsonrpc":"2.0",  "id":1,"result":{"protocolVersion":1}}` || r.Took != 500*time.Millisecond || r.Method != "initialize" {
		t.Errorf("%s took %v", r.Body, r.Took)
	}
	if r := list[4]; r.JSON || string(r.Body) != "Loaded cached credentials." || r.Kind != trace.Other {
		t.Errorf("%s is %v", r.Body, r.Kind)
	}
	// A document that breaks off is read as far as it goes.
	cut := devtoolsExport[:strings.Index(devtoolsExport, `"seq": 3`)]
	if _, done = imported(t, Import{Infer: true}, []byte(cut)); done.Frames != 2 || done.Damaged != 1 {
		t.Errorf("%+v", done)
	}
}
