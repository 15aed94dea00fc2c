package replay

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"acp-shim/fixtures"
	"acp-shim/proxy"
	"acp-shim/record"
)

// recorded is a frame as a test reads it from a capture, without the code that
// it tests.
type recorded struct {
	client bool
	line   string
}

// clientWire is what crossed between client and shim.
func clientWire(t testing.TB, capture []byte) (list []recorded) {
	t.Helper()
	for e, err := range record.Read(bytes.NewReader(capture)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case !e.IsFrame():
		case e.From == proxy.Client && !e.Again:
			list = append(list, recorded{true, string(e.Received())})
		case e.To == proxy.Client:
			list = append(list, recorded{false, string(e.Sent())})
		}
	}
	return list
}

// agentWire is what crossed between the shim and one process.
func agentWire(t testing.TB, capture []byte, gen int) (list []recorded) {
	t.Helper()
	for e, err := range record.Read(bytes.NewReader(capture)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case !e.IsFrame():
		case e.To == proxy.AgentPeer(gen):
			list = append(list, recorded{true, string(e.Sent())})
		case e.From == proxy.AgentPeer(gen) && !e.Again:
			list = append(list, recorded{false, string(e.Received())})
		}
	}
	return list
}

// conversation plays one end of a wire against a player: what is the client's is
// written when all before it was read, and what is read must be what is the
// agent's.
func conversation(t *testing.T, p *Player, list []recorded) {
	t.Helper()
	in := bufio.NewReader(p)
	for i, f := range list {
		if f.client {
			if _, err := io.WriteString(p, f.line); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := in.ReadString('\n')
		// A line that ends in "but" stands for all that begin so.
		if want, begins := strings.CutSuffix(f.line, "but \n"); err != nil || got != f.line && !(begins && strings.HasPrefix(got, want)) {
			t.Fatalf("frame %d: %v\n got %s\nwant %s", i, err, got, f.line)
		}
	}
	if err := p.CloseWrite(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("after the last frame came %q, %v", rest, err)
	}
}

func captures(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := fs.Glob(fixtures.Captures, "captures/demo-*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		if all[strings.TrimPrefix(path, "captures/")], err = fixtures.Captures.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// parse makes a script, and fails on what was missed or damaged unless the options
// take care of it.
func parse(t testing.TB, b []byte, o Options) *Script {
	t.Helper()
	if o.Damaged == nil {
		o.Damaged = func(err error) { t.Errorf("damaged: %v", err) }
	}
	if o.Missed == nil {
		o.Missed = func(m Miss) {
			if !m.Silent {
				t.Errorf("missed: %v", m)
			}
		}
	}
	s, err := Parse(bytes.NewReader(b), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A capture made by hand: > is a frame of the client's, < one of the agent's.
// Frames are a millisecond apart, or what stands before the arrow.
func capture(lines ...string) []byte {
	var b strings.Builder
	b.WriteString(`{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}` + "\n")
	at := 0
	for i, l := range lines {
		if l == "end" {
			fmt.Fprintf(&b, `{"seq":%d,"t":%d,"event":"end"}`+"\n", i+1, at*1000000)
			continue
		}
		when, frame, _ := strings.Cut(l, " ")
		from, to := `"client"`, `"agent#1"`
		if strings.HasSuffix(when, "<") {
			from, to = to, from
		}
		gap := 1
		fmt.Sscanf(when, "%d", &gap)
		at += gap
		fmt.Fprintf(&b, `{"seq":%d,"t":%d,"from":%s,"to":%s,"frame":%s}`+"\n", i+1, at*1e6, from, to, frame)
	}
	return []byte(b.String())
}

// wire is such a capture as a test plays it.
func wireOf(lines ...string) (list []recorded) {
	for _, l := range lines {
		when, frame, _ := strings.Cut(l, " ")
		list = append(list, recorded{!strings.HasSuffix(when, "<"), frame + "\n"})
	}
	return list
}
