package proxy

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestToolTalksOn: an agent is gone when it has exited, though something that it
// started goes on to write to its output.
func TestToolTalksOn(t *testing.T) {
	r := newRig(t, Options{})
	a := r.agent()
	r.send.WriteString(`{"id":1,"method":"x"}` + "\n")
	a.received.Read(make([]byte, 100))
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				a.say.WriteString("noise\n")
			}
		}
	}()
	a.once.Do(func() { close(a.done) }) // it exits, and nothing can end the tool
	answered := make(chan string, 1)
	go func() {
		for {
			line, err := r.get.ReadString('\n')
			if err != nil || strings.Contains(line, `"id":1`) {
				answered <- line
				return
			}
		}
	}()
	select {
	case line := <-answered:
		if !strings.Contains(line, "the agent exited") {
			t.Errorf("got %q", line)
		}
	case <-time.After(patience):
		t.Fatal("the request has no answer")
	}
	a.say.Close()
}

// TestClientIsKilled: a client of which nothing is left is not waited for as one
// that has only said its last.
func TestClientIsKilled(t *testing.T) {
	if !canWriteNow {
		t.Skip("the end of a reader cannot be seen here")
	}
	r := newRig(t, Options{Policy: func([]byte) Policy { return Policy{} }})
	a := r.agent()
	r.send.WriteString(`{"id":1,"method":"initialize"}` + "\n")
	a.received.Read(make([]byte, 100))
	begin := time.Now()
	r.send.Close()
	r.getEnd.Close()
	r.wait()
	if d := time.Since(begin); d > startLimit/3 {
		t.Errorf("it took %v", d)
	}
}

// TestLastRequestIsAnswered: a client that has said its last, and still reads,
// gets its answers.
func TestLastRequestIsAnswered(t *testing.T) {
	r := newRig(t, Options{Policy: func([]byte) Policy { return Policy{} }})
	a := r.agent()
	r.send.WriteString(`{"id":1,"method":"initialize"}` + "\n")
	r.send.Close()
	a.received.Read(make([]byte, 100))
	time.AfterFunc(3*quietAfter, func() { a.say.WriteString(`{"id":1,"result":{}}` + "\n") })
	line, err := r.get.ReadBytes('\n')
	if err != nil || !bytes.Contains(line, []byte(`"result":{}`)) {
		t.Errorf("got %q, %v", line, err)
	}
}
