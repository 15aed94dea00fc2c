package proxy

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"
)

// drained is a loop that is over, but for what its client has yet to take.
func drained(t *testing.T, size int) (*rig, []byte) {
	r := newRig(t, Options{})
	a := r.agent()
	line := append(bytes.Repeat([]byte("x"), size), '\n')
	r.send.Close()
	go func() {
		a.say.Write(line)
		a.quit()
	}()
	return r, line
}

// TestTheLastOfASlowClient: one that was fast, and takes little at a time from then on,
// gets all that was said.
func TestTheLastOfASlowClient(t *testing.T) {
	t.Parallel()
	r, line := drained(t, 3<<20)
	got := make([]byte, len(line))
	at := 0
	read := func(n int) { // nothing more is taken than this
		k, err := io.ReadFull(r.getEnd, got[at:at+n])
		if at += k; err != nil {
			t.Fatalf("%d bytes came of %d: %v", at, len(line), err)
		}
	}
	read(2 << 20)
	for range 3 {
		time.Sleep(endLimit * 2 / 3)
		read(40 << 10)
	}
	read(len(line) - at)
	if !bytes.Equal(got, line) {
		t.Error("it is not what was said")
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestATermWhileTheLastIsTaken ends the loop at once, though the client reads on.
func TestATermWhileTheLastIsTaken(t *testing.T) {
	t.Parallel()
	r, _ := drained(t, 8<<20)
	io.ReadFull(r.getEnd, make([]byte, 64<<10))
	select {
	case <-r.loop.finish:
	case <-time.After(patience):
		t.Fatal("the agent has gone, and the loop goes on")
	}
	over := make(chan struct{})
	go func() { // slowly, and without an end
		defer close(over)
		for b := make([]byte, 40<<10); ; time.Sleep(20 * time.Millisecond) {
			if _, err := io.ReadFull(r.getEnd, b); err != nil {
				return
			}
		}
	}()
	r.loop.Terminate(143, "a signal asked for it")
	began := time.Now()
	if code := r.wait(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	<-over
}

// TestAToolWithoutAnEnd: what an agent leaves behind may say what it likes when the agent
// has gone, and the client read nothing.
func TestAToolWithoutAnEnd(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	a.once.Do(func() { close(a.done) }) // exited; say stays open
	go func() {
		for line := append(bytes.Repeat([]byte("y"), 64<<10), '\n'); ; {
			if _, err := a.say.Write(line); err != nil {
				return
			}
		}
	}()
	most := 0
	for gone, end := false, time.Now().Add(patience); !gone; time.Sleep(time.Millisecond) {
		r.loop.mu.Lock()
		most, gone = max(most, r.loop.out.waiting()), len(r.loop.core.agents) == 0
		r.loop.mu.Unlock()
		if time.Now().After(end) {
			t.Fatal("it has no end")
		}
	}
	if most > 2*mostLate {
		t.Errorf("%d MiB waited", most>>20)
	}
}

// TestAnExitCodeStays: what went wrong first is not made good by what follows.
func TestAnExitCodeStays(t *testing.T) {
	s := newScript(t, Options{})
	s.core.start()
	s.core.started(1, 1)
	s.core.code = codeIO
	s.core.clientGone()
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.contains(fmt.Sprintf("finished %d", codeIO))
}

// TestSignalsAgainAndAgain do not put off the kill that ends what ignores them, nor is
// the first one's exit code changed by a client that goes.
func TestSignalsAgainAndAgain(t *testing.T) {
	s := newScript(t, Options{})
	s.core.start()
	s.core.started(1, 1)
	s.core.terminate(143, "a signal asked for it")
	first := s.timers[timerKey{kind: timerEnd}]
	if first == 0 {
		t.Fatal("nothing is to end what ignores it")
	}
	s.timers[timerKey{kind: timerEnd}] = first - 1 // some of it has passed
	s.core.terminate(129, "another one asked for it")
	s.core.clientGone()
	if s.timers[timerKey{kind: timerEnd}] != first-1 {
		t.Error("the kill is put off")
	}
	s.fire(timerKey{kind: timerEnd})
	s.did("kill 1")
	s.didNot("finished") // its sessions are not another shim's while it may write
	s.fire(timerKey{kind: timerEnd})
	s.contains("finished 143")
}

// TestOneFrameThatIsTooMuch has its time like many small ones: an agent that takes
// nothing of it is ended.
func TestOneFrameThatIsTooMuch(t *testing.T) {
	r := newRig(t, Options{})
	r.agent()
	go func() {
		r.send.Write([]byte(`{"id":1,"method":"x","params":"`))
		r.send.Write(bytes.Repeat([]byte("x"), blockedAbove+1<<20))
		r.send.Write([]byte("\"}\n"))
	}()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		r.loop.mu.Lock()
		armed := r.loop.deadlines.armed(timerKey{kind: timerBlocked, gen: 1})
		r.loop.mu.Unlock()
		if armed {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it may take its time for ever")
		}
	}
}
