package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// cut writes b in pieces of random size.
func cut(w io.Writer, b []byte, rng *rand.Rand) {
	for len(b) > 0 {
		n := min(len(b), 1+rng.IntN(1+rng.IntN(5000)))
		w.Write(b[:n])
		b = b[n:]
	}
}

// FuzzRelay holds a plain relay to its promise: any bytes in, the same bytes
// out, in both directions, wherever they are cut.
func FuzzRelay(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"method\":\"x\"}\r\n\n[1]\n\xff\x00noise\n{\"half"), []byte("{\"id\":1,\"result\":{}}\n\n\n{}{}"), uint64(1))
	f.Add([]byte(`{"id":1,"id":2,"method":"session/cancel","params":{"sessionId":"s"}}`+"\n"), []byte("{\"id\":0,\"method\":\"y\"}\n{\"id\":0,\"method\":\"y\"}\n"), uint64(2))
	f.Fuzz(func(t *testing.T, down, up []byte, seed uint64) {
		r := newRig(t, Options{})
		a := r.agent()
		got := make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(a.received)
			got <- b
		}()
		said := make(chan struct{})
		go func() {
			defer close(said)
			cut(a.say, up, rand.New(rand.NewPCG(seed, 1)))
		}()
		go func() {
			cut(r.send, down, rand.New(rand.NewPCG(seed, 2)))
			r.send.Close()
		}()
		if b := <-got; !bytes.Equal(b, down) {
			t.Errorf("the agent got %q, not %q", b, down)
		}
		<-said
		a.quit() // with its last bytes still in the pipe, perhaps
		b, err := io.ReadAll(r.get)
		own, ok := bytes.CutPrefix(b, up)
		if err != nil || !ok {
			t.Errorf("the client got %q, not %q (%v)", b, up, err)
		}
		// What the agent owed is answered in its place, on lines of its own.
		for _, line := range bytes.Split(bytes.Trim(own, "\n"), []byte("\n")) {
			if len(line) > 0 && !bytes.Contains(line, []byte(`"error":{"code":-32603,"message":"acp-shim: `)) {
				t.Errorf("the client got %q too", line)
			}
		}
	})
}

// TestDuplex has both sides write 20 MB frames while neither reads, which a
// relay with a bounded buffer does not survive.
func TestDuplex(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	frame := func(c string) []byte {
		return []byte(`{"method":"x","params":"` + strings.Repeat(c, 20<<20) + `"}` + "\n")
	}
	down, up := frame("d"), frame("u")
	written := make(chan error, 2)
	go func() { _, err := r.send.Write(down); written <- err }()
	go func() { _, err := a.say.Write(up); written <- err }()
	for range 2 {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("both sides wait for each other")
		}
	}
	if got := r.read(len(up)); sha256.Sum256(got) != sha256.Sum256(up) {
		t.Error("what the client got is not what the agent sent")
	}
	got := make([]byte, len(down))
	if _, err := io.ReadFull(a.received, got); err != nil || sha256.Sum256(got) != sha256.Sum256(down) {
		t.Error("what the agent got is not what the client sent")
	}
}

// TestClientThatDoesNotRead has an agent flood a client that reads nothing: the
// agent is paused, memory is bounded, and nothing is lost.
func TestClientThatDoesNotRead(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	line := []byte(`{"method":"session/update","params":{"x":"` + strings.Repeat("y", 1000) + `"}}` + "\n")
	const lines = 100_000
	before := int(heap())
	sent := make(chan int, 1)
	go func() {
		n := 0
		for range lines {
			if _, err := a.say.Write(line); err != nil {
				break
			}
			n++
		}
		sent <- n
	}()
	select {
	case <-sent:
		t.Fatal("100 MB went somewhere although nobody reads")
	case <-time.After(500 * time.Millisecond):
	}
	if n := int(heap()) - before; n > 4*pauseAbove {
		t.Errorf("%d MiB in use", n>>20)
	}
	paused := func() bool {
		r.loop.mu.Lock()
		defer r.loop.mu.Unlock()
		return r.loop.core.agents[0].Paused()
	}
	if !paused() {
		t.Error("nothing tells that the agent is not read")
	}
	if got := r.read(lines * len(line)); !bytes.Equal(got, bytes.Repeat(line, lines)) {
		t.Error("lines were lost or changed")
	}
	if n := <-sent; n != lines {
		t.Errorf("the agent could write %d lines", n)
	}
	for end := time.Now().Add(10 * time.Second); paused(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is read again, and nothing tells so")
		}
	}
}

// heap is what is in use once what is not is gone.
func heap() uint64 {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return mem.HeapAlloc
}

// TestLastWords has an agent say something and be gone in the same moment.
func TestLastWords(t *testing.T) {
	for i := range 50 {
		r := newRig(t, Options{})
		a := r.agent()
		fmt.Fprintf(a.say, `{"method":"last","params":%d}`+"\n", i)
		a.quit()
		want := fmt.Sprintf(`{"method":"last","params":%d}`+"\n", i)
		if got := r.read(len(want)); string(got) != want {
			t.Fatalf("got %q", got)
		}
		r.loop.Terminate(0, "the test ends it")
		r.wait()
	}
}

// TestToolThatHoldsThePipe has an agent exit while something it started keeps
// its output open: the end is noticed all the same.
func TestToolThatHoldsThePipe(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	fmt.Fprintln(r.send, `{"id":1,"method":"x"}`)
	io.ReadFull(a.received, make([]byte, 10))
	a.once.Do(func() { close(a.done) }) // exited; say stays open
	line, err := r.get.ReadString('\n')
	if err != nil || !strings.Contains(line, `"id":1,"error"`) {
		t.Errorf("got %q, %v", line, err)
	}
	a.say.Close()
}

func TestOutputEndsWithoutExit(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	fmt.Fprintln(r.send, `{"id":1,"method":"x"}`)
	io.ReadFull(a.received, make([]byte, 10))
	a.say.Close()
	line, err := r.get.ReadString('\n')
	if err != nil || !strings.Contains(line, "it closed its output") {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestInputEndsWithoutExit: who cannot be asked any more owes no answers, but what it
// says before it exits is still heard, for a while.
func TestInputEndsWithoutExit(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	failed, tell := make(chan error, 1), func(error) {}
	// The while begins when the test says so.
	for held, end := false, time.Now().Add(patience); !held; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the agent is never attended to")
		}
		r.loop.mu.Lock()
		for _, p := range r.loop.procs {
			held, tell = true, p.out.onError
			p.out.onError = func(err error) { failed <- err }
		}
		r.loop.mu.Unlock()
	}
	answer := func(want string) {
		t.Helper()
		if line, err := r.get.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("got %q, %v", line, err)
		}
	}
	a.received.Close()
	fmt.Fprintln(r.send, `{"id":1,"method":"x"}`)
	err := <-failed
	fmt.Fprintln(a.say, `{"method":"last words"}`)
	answer("last words")
	began := time.Now()
	r.loop.mu.Lock()
	tell(err)
	r.loop.mu.Unlock()
	answer("it closed its input")
	if d := time.Since(began); d < 2*quietAfter {
		t.Errorf("it was given %v for its last words", d)
	}
}

func TestClientIsGone(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	r.getEnd.Close()
	fmt.Fprintln(a.say, `{"method":"x"}`)
	r.wait()
}

// ends is a client's end that fails after a while.
type ends struct {
	text string
	err  error
}

func (e *ends) Read(b []byte) (int, error) {
	if e.text == "" {
		return 0, e.err
	}
	n := copy(b, e.text)
	e.text = e.text[n:]
	return n, nil
}

func (e *ends) Write(b []byte) (int, error) { return 0, e.err }

// TestEndsThatFail: what a client that goes looks like is its end; any other error of
// its pipes is told, and the exit code says so. What it had asked before is answered.
func TestEndsThatFail(t *testing.T) {
	for _, c := range []struct {
		read, write error
		code        int
		told        string
	}{
		{read: io.EOF},
		{read: goneHere()[1]},
		{read: syscall.EIO, code: codeIO, told: "cannot be read any more"},
		{read: io.EOF, write: goneHere()[0]},
		{read: io.EOF, write: goneHere()[1]},
		{read: io.EOF, write: syscall.ENOSPC, code: codeIO, told: "nothing can be written to the client"},
	} {
		var log, got bytes.Buffer
		in := &ends{"{\"id\":1,\"method\":\"x\"}\n", c.read}
		var out io.Writer = &got
		if c.write != nil {
			out = &ends{err: c.write}
		}
		l := New(Config{
			In: in, Out: out, OutFD: -1, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
			Start: func(int) (Process, error) { return nil, errors.New("no agent today") },
		})
		done := make(chan int, 1)
		go func() { done <- l.Run(context.Background()) }()
		select {
		case code := <-done:
			if code != c.code {
				t.Errorf("read %v, write %v: exit code %d", c.read, c.write, code)
			}
		case <-time.After(patience):
			t.Fatalf("read %v, write %v: the loop does not end", c.read, c.write)
		}
		if n := strings.Count(log.String(), "level=ERROR"); (n == 0) != (c.told == "") || n > 1 || !strings.Contains(log.String(), c.told) {
			t.Errorf("read %v, write %v: it told %q", c.read, c.write, log.String())
		}
		if c.write == nil && (strings.Count(got.String(), "\n") != 1 || !strings.Contains(got.String(), "no agent today")) {
			t.Errorf("read %v: the answer is %q", c.read, got.String())
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := newRig(t, Options{Policy: exclusive})
	a := r.agent()
	fmt.Fprintln(r.send, initRequest)
	r.send.Close()
	io.ReadFull(a.received, make([]byte, len(initRequest)))
	fmt.Fprintln(a.say, initResult)
	io.ReadAll(a.received)
	a.quit()
	r.wait()
	goleak.VerifyNone(t, before)
}

// TestSlowReaderGetsAll has a client that begins to read only when the agent has
// long been gone.
func TestSlowReaderGetsAll(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	line := []byte(`{"method":"x","params":"` + strings.Repeat("y", 1000) + `"}` + "\n")
	const lines = pauseAbove / 1100
	a.say.Write(bytes.Repeat(line, lines))
	r.send.Close()
	a.quit()
	time.Sleep(700 * time.Millisecond) // the client's own time
	if got := r.read(lines * len(line)); !bytes.Equal(got, bytes.Repeat(line, lines)) {
		t.Error("lines were lost or changed")
	}
}
