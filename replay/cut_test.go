package replay

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"acp-shim/internal/wire"
)

// survives plays a recording, whatever is left of it, to a client that sends what
// the client of another one has sent. Nothing may panic or hang, and what is
// answered is answered once.
func survives(t testing.TB, b []byte, o Options, script []recorded) {
	t.Helper()
	o.Damaged, o.Missed = func(error) {}, func(Miss) {}
	s, err := Parse(bytes.NewReader(b), o)
	if err != nil {
		return
	}
	defer s.Close()
	p := s.Agent()
	for _, f := range script {
		if f.client {
			if _, err := io.WriteString(p, f.line); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.CloseWrite()
	if _, err := io.Copy(io.Discard, p); err != nil {
		t.Fatal(err)
	}
	if p.e.own != 0 || len(p.e.queue) != 0 {
		t.Errorf("%d bytes in %d frames were left unsaid", p.e.own, len(p.e.queue))
	}
}

// small is a capture with all that a replay knows: turns, permissions, cancels,
// loads, a fork, a batch, noise, marks.
func small() (b []byte, list []recorded) {
	lines := []string{"> " + initialize, "< " + hello, "> " + opening(1, "/home/dev"), "< " + opened(1, sessionA),
		"> " + prompt(2, sessionA, "do /home/dev/x"), "< " + chunk(sessionA, "/home/dev/y"), "< " + permission(0, sessionA, "t"), "> " + allowed(0), "< " + done(2),
		"> " + prompt(3, sessionA, "[redacted]"), "> " + cancelOf(sessionA), "< " + stopped(3, "cancelled"),
		`> {"id":4,"method":"session/fork","params":{"sessionId":"` + sessionA + `"}}`, "< " + opened(4, sessionB),
		"> " + loading(5, sessionB, "/home/dev"), "< " + chunk(sessionB, "history"), `< {"id":5,"result":{}}`,
		`> [1]`, `< "noise"`, `> {"method":"$/cancel_request","params":{"requestId":5}}`, `> {"id":6,"method":"session/list"}`, `< {"id":6,"error":{"code":1,"message":"x"}}`}
	return capture(lines...), wireOf(lines...)
}

// TestCutAnywhere cuts recordings at every byte, of every kind and side.
func TestCutAnywhere(t *testing.T) {
	b, list := small()
	var plain, half []byte
	for _, f := range list {
		plain = append(plain, f.line...)
		if !f.client {
			half = append(half, f.line...)
		}
	}
	for _, text := range [][]byte{b, plain, half} {
		for n := range text {
			survives(t, text[:n], Options{}, list)
			survives(t, text[:n], Options{AgentSide: true, Lenient: true}, list)
		}
	}
}

// TestFlipped damages bytes at random.
func TestFlipped(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	b, list := small()
	for range 1000 {
		c := bytes.Clone(b)
		for range 1 + r.IntN(8) {
			c[r.IntN(len(c))] = byte(r.IntN(256))
		}
		survives(t, c, Options{Lenient: r.IntN(2) == 0}, list)
	}
	if t.Failed() {
		t.Log("the seed is", seed)
	}
}

// TestFixturesCut cuts real captures at the ends of their lines and inside of them.
func TestFixturesCut(t *testing.T) {
	for _, b := range captures(t) {
		list := clientWire(t, b)
		for n := 0; n < len(b); n += 397 {
			survives(t, b[:n], Options{}, list)
		}
	}
}

func FuzzReplay(f *testing.F) {
	b, list := small()
	var said []byte
	for _, x := range list {
		if x.client {
			said = append(said, x.line...)
		}
	}
	f.Add(b, said, false)
	f.Add(said, said, true)
	f.Fuzz(func(t *testing.T, recording, said []byte, lenient bool) {
		survives(t, recording, Options{Lenient: lenient}, []recorded{{true, string(said)}})
	})
}

// FuzzChange: JSON stays JSON, and what has nothing to be changed in it stays as it
// is.
func FuzzChange(f *testing.F) {
	f.Add("see /home/dev/x and /home/developer\n/home/dev", "/home/dev", "/w")
	f.Add("\nb", "nb", `C:\x`)
	f.Fuzz(func(t *testing.T, text, from, to string) {
		for _, c := range []*change{newPaths(from, to), newSession(from, to)} {
			if c == nil {
				continue
			}
			was := []byte(`{"sessionId":` + wire.Quote(text) + `}`)
			is := changes{c}.json(was)
			if !wire.Valid(is) {
				t.Errorf("%q to %q made %s of %s", from, to, is, was)
			}
			if !bytes.Contains(was, c.fromJS) && !bytes.Equal(was, is) {
				t.Errorf("%q to %q: %s became %s", from, to, was, is)
			}
		}
	})
}
