package proxy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// counted is an agent whose output is read, and a client whose input is written, by
// calls that are counted.
type counted struct {
	*fakeAgent
	reads *atomic.Int64
}

type countedOut struct {
	Stdout
	reads *atomic.Int64
}

func (c countedOut) Read(b []byte) (int, error) {
	n, err := c.Stdout.Read(b)
	if n > 0 {
		c.reads.Add(1)
	}
	return n, err
}

func (c counted) Stdout() Stdout { return countedOut{c.fakeAgent.Stdout(), c.reads} }

type countedIn struct {
	writes atomic.Int64
	got    chan []byte
}

func (c *countedIn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	c.got <- bytes.Clone(b)
	return len(b), nil
}

func (c *countedIn) Close() error { return nil }

// TestOneReadAndOneWriteABatch has what an agent writes at once leave at once, however
// many frames it is.
func TestOneReadAndOneWriteABatch(t *testing.T) {
	in, send, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer send.Close()
	var reads atomic.Int64
	out := &countedIn{got: make(chan []byte, 100)}
	agents := make(chan *fakeAgent, 1)
	loop := New(Config{Options: Options{}, In: in, Out: out, OutFD: -1, Start: func(int) (Process, error) {
		a := newFakeAgent(t)
		agents <- a
		return counted{a, &reads}, nil
	}})
	code := make(chan int, 1)
	go func() { code <- loop.Run(context.Background()) }()
	a := <-agents
	const batches = 50
	for n := range batches {
		// Less than a pipe takes at once, so that it is one write of the agent's.
		batch := bytes.Repeat(fmt.Appendf(nil, `{"method":"session/update","params":{"sessionId":"s","update":{"n":%d,"content":{"text":"abc"}}}}`+"\n", n), 1+n)
		if _, err := a.say.Write(batch); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for len(got) < len(batch) {
			select {
			case b := <-out.got:
				got = append(got, b...)
			case <-time.After(patience):
				t.Fatalf("batch %d did not arrive", n)
			}
		}
		if !bytes.Equal(got, batch) {
			t.Fatalf("batch %d was changed", n)
		}
	}
	if r, w := reads.Load(), out.writes.Load(); r != batches || w != batches {
		t.Errorf("%d batches took %d reads and %d writes", batches, r, w)
	}
	loop.Terminate(0, "the test ends it")
	<-code
	in.Close()
}
