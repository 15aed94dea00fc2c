package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"acp-shim/record"
)

// TestFixtures: a client that does what the recorded one did gets, byte for byte,
// what that one got.
func TestFixtures(t *testing.T) {
	for name, b := range captures(t) {
		t.Run(name, func(t *testing.T) {
			conversation(t, parse(t, b, Options{}).Agent(), clientWire(t, b))
		})
		for gen := 1; gen <= 3; gen++ {
			t.Run(name+"/agent side", func(t *testing.T) {
				conversation(t, parse(t, b, Options{AgentSide: true}).Agent(), agentWire(t, b, gen))
			})
		}
	}
}

// TestKinds of captures: compressed, redacted after the fact, and with runs one
// behind the other, of which each is played as often as it was.
func TestKinds(t *testing.T) {
	for name, b := range captures(t) {
		e, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name+"/compressed", func(t *testing.T) {
			conversation(t, parse(t, e.EncodeAll(b, nil), Options{}).Agent(), clientWire(t, b))
		})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		t.Run(name+"/twice", func(t *testing.T) {
			p := parse(t, append(b[:len(b):len(b)], b...), Options{}).Agent()
			for _, f := range clientWire(t, b) {
				if f.client {
					p.Write([]byte(f.line))
				}
			}
			if p.Misses() != 0 {
				t.Errorf("%d misses", p.Misses())
			}
			p.Close()
		})
	}
	// A run in two files, cut in the middle of a turn.
	lines := []string{"> " + prompt(1, "s", "x"), "< " + permission(0, "s", "t"), "> " + allowed(0), "< " + done(1)}
	head, rest, _ := bytes.Cut(capture(lines...), []byte("\n"))
	at := bytes.Index(rest, []byte(`{"seq":3`))
	part := func(n string) []byte {
		return append(bytes.Replace(head, []byte(`"pid":1`), []byte(`"pid":1,"run":"r","part":`+n), 1), '\n')
	}
	path := filepath.Join(t.TempDir(), "c.jsonl")
	for name, b := range map[string][]byte{path: append(part("1"), rest[:at]...), strings.Replace(path, "c.", "c.part2.", 1): append(part("2"), rest[at:]...)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(path, Options{Damaged: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	conversation(t, s.Agent(), wireOf(lines...))

	// A client's secrets are not those that the redacted capture has.
	secret := `{"id":1,"method":"authenticate","params":{"methodId":"gemini-api-key","_meta":{"x":1},"apiKey":"AIzaSyA0123456789abcdefghijklmnopqrstuv"}}`
	b := record.Redact([]byte(secret))
	if string(b) == secret {
		t.Fatal("nothing was redacted")
	}
	conversation(t, parse(t, capture("> "+string(b), `< {"id":1,"result":{}}`), Options{}).Agent(), wireOf("> "+secret, `< {"id":1,"result":{}}`))
}
