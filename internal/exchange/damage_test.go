package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"acp-shim/internal/trace"
	"acp-shim/record"
)

// manyTurns is a capture of turns with one chunk each.
func manyTurns(n int, text string) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, `{"seq":%d,"t":%d,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}}`+"\n", 3*i+1, 3*i+1, i)
		fmt.Fprintf(&b, `{"seq":%d,"t":%d,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}}`+"\n", 3*i+2, 3*i+2, text)
		fmt.Fprintf(&b, `{"seq":%d,"t":%d,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}}`+"\n", 3*i+3, 3*i+3, i)
	}
	return b.Bytes()
}

// exporters are all of them, of which the output is dropped.
func exporters() []Exporter {
	return []Exporter{
		&Plain{Wire: everything, Out: io.Discard}, &Plain{Wire: Wire{At: Agent, Both: true}, Out: io.Discard},
		&Transcript{Out: io.Discard}, &Viewer{Out: io.Discard}, &Inspector{Count: Count{Wire: everything}, Out: io.Discard},
		&Spans{Content: true, Send: func([]byte, int) error { return nil }},
	}
}

// survive exports what can be read of a capture, and imports it as if it were a
// recording.
func survive(t *testing.T, b []byte) {
	t.Helper()
	all := exporters()
	for r, err := range trace.Read(record.Read(bytes.NewReader(b))) {
		if err != nil {
			continue
		}
		for _, e := range all {
			if err := e.Add(r); err != nil {
				t.Fatalf("%T, line %d: %v", e, r.Line, err)
			}
		}
	}
	for _, e := range all {
		if err := e.End(); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
}

// TestDamaged: a capture or a recording that is cut anywhere, or has any byte wrong,
// is led out and in as far as it goes.
func TestDamaged(t *testing.T) {
	run := testdata(t, "run.jsonl")
	for i := 0; i <= len(run); i += 13 {
		survive(t, run[:i])
	}
	plain := testdata(t, "client.jsonl")
	for i := range plain {
		if i%13 == 0 {
			reimport(t, plain[:i])
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		for _, original := range [][]byte{run, plain, []byte(devtoolsExport)} {
			b := bytes.Clone(original)
			for range 1 + random.IntN(20) {
				b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
			}
			survive(t, b)
			reimport(t, b)
		}
	}
}

// reimport imports what may be damaged: what comes out must be a capture.
func reimport(t *testing.T, b []byte) {
	t.Helper()
	var out bytes.Buffer
	done, err := Import{Name: "x", Infer: true}.Run(bytes.NewReader(b), &out)
	if err != nil {
		return
	}
	frames := 0
	for e, err := range record.Read(&out) {
		var line *record.LineError
		if errors.As(err, &line) {
			t.Fatalf("%v, of %q", err, b)
		}
		if e.IsFrame() {
			frames++
		}
	}
	if frames != done.Frames {
		t.Fatalf("%d frames of %d are in the capture of %q", frames, done.Frames, b)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(testdata(f, "client.jsonl"))
	f.Add([]byte(devtoolsExport))
	f.Add([]byte(`{"from":"agent","raw":"\ud800x"}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) { reimport(t, b) })
}
