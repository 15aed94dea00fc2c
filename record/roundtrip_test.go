package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// traffic plays a shim on lines of any bytes: each is forwarded, changed, dropped,
// or held and sent later, and lines of the shim's own go out between.
type traffic struct {
	rng  *rand.Rand
	tap  proxy.Tap
	held []*wire.Message

	// What came from each peer, and what went there.
	from, to map[proxy.Peer][]byte
}

func (t *traffic) line(from, to proxy.Peer, raw []byte) {
	m := &wire.Message{}
	m.Parse(slices.Clone(raw))
	t.from[from] = append(t.from[from], raw...)
	switch t.rng.IntN(6) {
	case 0:
		t.report(from, proxy.Nobody, m, "dropped", false)
		return
	case 1:
		t.report(from, proxy.Nobody, m, "held", false)
		t.held = append(t.held, m)
		return
	case 2, 3:
		t.change(m)
	}
	t.report(from, to, m, "", false)
	if len(t.held) > 0 && t.rng.IntN(2) == 0 {
		h := t.held[0]
		t.held = t.held[1:]
		t.change(h)
		t.report(proxy.Client, proxy.AgentPeer(2), h, "", true)
	}
	if t.rng.IntN(5) == 0 {
		own := &wire.Message{}
		own.Parse([]byte(`{"jsonrpc":"2.0","id":"shim-1","method":"session/load"}` + "\n"))
		t.report(proxy.Shim, to, own, "restore", false)
	}
}

// change splices anywhere in what may be spliced, also in the middle of a
// character, and into something that is no JSON any more.
func (t *traffic) change(m *wire.Message) {
	for range 1 + t.rng.IntN(3) {
		if len(m.Raw) == 0 {
			return
		}
		at := t.rng.IntN(len(m.Raw))
		n := t.rng.IntN(min(10, len(m.Raw)-at) + 1)
		m.Splice(at, n, []string{"", "x", "\xff", `"`, "é", "{}\r", "\n"}[t.rng.IntN(7)])
	}
}

func (t *traffic) report(from, to proxy.Peer, m *wire.Message, why string, again bool) {
	t.to[to] = append(t.to[to], m.Raw...)
	t.tap.Frame(&proxy.Frame{From: from, To: to, Bytes: m.Raw, Edits: m.Edits(), Why: why, Again: again, Session: m.Session})
}

// streams reads back what came from and went to each peer.
func streams(t *testing.T, capture string) (from, to map[proxy.Peer][]byte) {
	from, to = map[proxy.Peer][]byte{}, map[proxy.Peer][]byte{}
	for _, e := range entries(t, capture) {
		if !e.IsFrame() {
			continue
		}
		if !e.Again && e.From != proxy.Shim {
			from[e.From] = append(from[e.From], e.Received()...)
		}
		to[e.To] = append(to[e.To], e.Sent()...)
	}
	return from, to
}

func roundTrip(t *testing.T, client, agent []byte, seed uint64) {
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true, Start: time.Now()})
	p := &traffic{rng: rand.New(rand.NewPCG(seed, 0)), tap: w, from: map[proxy.Peer][]byte{}, to: map[proxy.Peer][]byte{}}
	for len(client) > 0 || len(agent) > 0 {
		var line []byte
		if len(client) > 0 && (len(agent) == 0 || p.rng.IntN(2) == 0) {
			line, client = wire.Cut(client)
			p.line(proxy.Client, proxy.AgentPeer(1), line)
		} else {
			line, agent = wire.Cut(agent)
			p.line(proxy.AgentPeer(1), proxy.Client, line)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	accounts(t, entries(t, d.text()))
	from, to := streams(t, d.text())
	for _, peer := range []proxy.Peer{proxy.Client, proxy.AgentPeer(1)} {
		if !bytes.Equal(from[peer], p.from[peer]) {
			t.Errorf("from %d: got\n%q, want\n%q in\n%s", peer, from[peer], p.from[peer], d.text())
		}
	}
	for _, peer := range []proxy.Peer{proxy.Client, proxy.AgentPeer(1), proxy.AgentPeer(2), proxy.Nobody} {
		if !bytes.Equal(to[peer], p.to[peer]) {
			t.Errorf("to %d: got\n%q, want\n%q in\n%s", peer, to[peer], p.to[peer], d.text())
		}
	}
	for i, line := range strings.SplitAfter(d.text(), "\n") {
		if line != "" && !wire.Valid([]byte(line)) {
			t.Errorf("line %d is no JSON: %q", i+1, line)
		}
	}
}

var odd = []string{
	"", "\n", "\r\n", " \t\r\n", "noise\n", "\xff\xfe noise\n", "{}\n", `{"a":1}`, "{\"id\":1,\"method\":\"m\",\"params\":{}}\r\n",
	" {\"id\":1 ,\r\"method\":\"\u00e9\xff\",\"params\":{\"a\":[1,2.50,\"\\u0041\\/\"]}}  \n", "[{\"id\":1,\"method\":\"m\"}]\n",
	"{\"method\":\"x\",\"params\":{\"t\":\"\u2028\u2029\x7f\"}}\n", "\u00a0{}\n", "nul \x00\x01\n", "{\"a\":\n", "\"s\"\n", "null\n", "1e999\n",
	`{"method":"m","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}\n",
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for seed := range uint64(300) {
		var client, agent []byte
		for range rng.IntN(30) {
			client = append(client, odd[rng.IntN(len(odd))]...)
			agent = append(agent, odd[rng.IntN(len(odd))]...)
			client = fmt.Appendf(client, "{\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"method\":\"x\",\"sessionId\":\"é\"}}\n", seed)
		}
		roundTrip(t, client, agent, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestNesting: what nests too deep for most readers does not spoil its line.
func TestNesting(t *testing.T) {
	for depth, want := range map[int]bool{900: true, 2000: false} {
		d := newDisk()
		w := newWriter(d, "f", Options{Start: time.Now()})
		frame := strings.Repeat(`["]",`, depth) + "1" + strings.Repeat("]", depth) + "\n"
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.Nobody, Bytes: []byte(frame)})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if e := entries(t, d.text())[1]; e.JSON != want || string(e.Sent()) != frame {
			t.Errorf("depth %d: JSON %v", depth, e.JSON)
		}
	}
}

// FuzzRoundTrip: any bytes on either side, and any fate of each line; a raw
// capture gives them all back.
func FuzzRoundTrip(f *testing.F) {
	for i, line := range odd {
		f.Add([]byte(line+odd[(i+1)%len(odd)]), []byte(odd[(i+2)%len(odd)]+line), uint64(i))
	}
	frames := seeds.Frames()
	for i := 0; i+1 < len(frames); i += 2 {
		f.Add(append(slices.Clone(frames[i]), '\n'), append(slices.Clone(frames[i+1]), '\n'), uint64(i))
	}
	f.Fuzz(roundTrip)
}

// TestRedactedEdits: in a redacted capture no secret is in a frame nor in its
// edits, and undoing them gives what was received, redacted.
func TestRedactedEdits(t *testing.T) {
	type change struct{ old, new string }
	tests := []struct {
		name     string
		received string
		changes  []change
		edits    []proxy.Edit // nil: only what holds for all is checked
	}{
		{
			name:     "beside a secret",
			received: `{"id":1,"method":"m","params":{"token":"s3cr3t","method":"x"}}`,
			changes:  []change{{`"method":"x"`, `"methodId":"x"`}},
			edits:    []proxy.Edit{{At: 52, Old: `"method":"x"`, New: `"methodId":"x"`}},
		},
		{
			name:     "no secret",
			received: `{"id":1,"method":"m","params":{"text":"keys = token","method":"x"}}`,
			changes:  []change{{`"method":"x"`, `"methodId":"x"`}},
			edits:    []proxy.Edit{{At: 53, Old: `"method":"x"`, New: `"methodId":"x"`}},
		},
		{
			name:     "a secret comes in",
			received: `{"id":1,"method":"m","params":{"mcpServers":[]}}`,
			changes:  []change{{`[]`, `[{"name":"b","headers":[{"name":"x-bridge-token","value":"s3cr3t"}]}]`}},
			edits:    []proxy.Edit{{At: 44, Old: `[]`, New: `[{"name":"b","headers":[{"name":"x-bridge-token","value":"[redacted]"}]}]`}},
		},
		{
			name:     "a secret is taken out",
			received: `{"id":1,"method":"m","params":{"env":{"A":"s3cr3t"},"x":1}}`,
			changes:  []change{{`"env":{"A":"s3cr3t"},`, ``}},
			edits:    []proxy.Edit{{At: 31, Old: `"env":{"A":"[redacted]"},`, New: ``}},
		},
		{
			name:     "a name becomes a secret's",
			received: `{"id":1,"method":"m","params":{"name":"s3cr3t"}}`,
			changes:  []change{{`"name"`, `"token"`}},
		},
		{
			name:     "within a secret",
			received: `{"id":1,"method":"m","params":{"token":"s3cr3t and s3cr3t"}}`,
			changes:  []change{{`and`, `or`}, {`s3cr3t or`, `s3cr3t s3cr3t`}},
		},
		{
			name:     "in and out again",
			received: `{"id":1,"method":"m","params":{}}`,
			changes:  []change{{`{}`, `{"token":"s3cr3t"}`}, {`{"token":"s3cr3t"}`, `{}`}},
		},
		{
			name:     "in front of a secret, twice",
			received: `{"id":1,"method":"m","params":{"a":"b","password":"s3cr3t","c":"d"}}`,
			changes:  []change{{`"a":"b"`, `"aa":"bb"`}, {`"c":"d"`, `"e":"f"`}, {`"aa":"bb"`, `"a":"b"`}},
			edits:    []proxy.Edit{{At: 31, Old: `"a":"b"`, New: `"aa":"bb"`}, {At: 65, Old: `"c":"d"`, New: `"e":"f"`}, {At: 31, Old: `"aa":"bb"`, New: `"a":"b"`}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &wire.Message{}
			m.Parse([]byte(tt.received + "\n"))
			for _, c := range tt.changes {
				at := bytes.Index(m.Raw, []byte(c.old))
				if at < 0 || !m.Splice(at, len(c.old), c.new) {
					t.Fatalf("cannot change %s to %s in %s", c.old, c.new, m.Raw)
				}
			}
			d := newDisk()
			w := newWriter(d, "f", Options{Start: time.Now()})
			w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: m.Raw, Edits: m.Edits()})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(d.text(), "s3cr3t") && !strings.Contains(tt.name, "becomes") {
				t.Errorf("the secret is in\n%s", d.text())
			}
			e := entries(t, d.text())[1]
			if got, want := string(e.Sent()), string(Redact(m.Raw)); got != want {
				t.Errorf("sent %s, want %s", got, want)
			}
			if got, want := string(e.Received()), string(Redact([]byte(tt.received+"\n"))); got != want {
				t.Errorf("received %s, want %s", got, want)
			}
			if tt.edits != nil && !slices.Equal(e.Edits, tt.edits) {
				t.Errorf("edits %+v, want %+v", e.Edits, tt.edits)
			}
		})
	}
}

// FuzzRedactedEdits changes frames with secrets at random.
func FuzzRedactedEdits(f *testing.F) {
	for i, tt := range redactFrames {
		in, _ := unmark(tt.frame)
		f.Add([]byte(strings.Replace(in, "{", `{"id":1,"method":"m",`, 1)), uint64(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		m := &wire.Message{}
		m.Parse(slices.Clone(in))
		p := &traffic{rng: rand.New(rand.NewPCG(seed, 1))}
		p.change(m)
		edits := make([]edit, len(m.Edits()))
		for i, e := range m.Edits() {
			edits[i] = edit{e.At, []byte(e.Old), []byte(e.New)}
		}
		sent, told := new(cleaner).edited(m.Raw, edits)
		if want := Redact(m.Raw); !bytes.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
		var back []proxy.Edit
		for _, e := range told {
			back = append(back, proxy.Edit{At: e.at, Old: string(e.old), New: string(e.new)})
		}
		if got, want := wire.Undo(sent, back), Redact(in); !bytes.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
}
