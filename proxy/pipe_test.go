package proxy

import (
	"bufio"
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"
)

// fakeAgent is an agent process without the process: the test reads what it is
// sent and writes what it says. It ends when it is killed, or by quit.
type fakeAgent struct {
	stdin, received *os.File // the shim's end, the agent's
	say, stdout     *os.File
	fd              int
	done            chan struct{}
	once            sync.Once
	killed          chan struct{}
}

func newFakeAgent(t testing.TB) *fakeAgent {
	t.Helper()
	a := &fakeAgent{done: make(chan struct{}), killed: make(chan struct{}), fd: -1}
	var err error
	if a.received, a.stdin, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if a.stdout, a.say, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if raw, err := a.stdin.SyscallConn(); err == nil && canWriteNow {
		raw.Control(func(fd uintptr) { a.fd = int(fd) })
	}
	t.Cleanup(func() {
		a.quit()
		a.received.Close()
		a.stdin.Close()
		a.stdout.Close()
	})
	return a
}

// quit is the agent's exit, with the end of its output.
func (a *fakeAgent) quit() {
	a.once.Do(func() {
		a.say.Close()
		close(a.done)
	})
}

func (a *fakeAgent) Pid() int              { return 1 }
func (a *fakeAgent) Stdin() io.WriteCloser { return a.stdin }
func (a *fakeAgent) StdinFD() int          { return a.fd }
func (a *fakeAgent) Stdout() Stdout        { return a.stdout }
func (a *fakeAgent) Done() <-chan struct{} { return a.done }
func (a *fakeAgent) Exit() Exit            { return Exit{Words: "exited with code 0"} }
func (a *fakeAgent) Terminate()            {}
func (a *fakeAgent) Release()              {}
func (a *fakeAgent) Kill()                 { a.quit() }

// rig is a loop with a client and agents that the test plays.
type rig struct {
	t      testing.TB
	loop   *Loop
	send   *os.File // the client's output
	get    *bufio.Reader
	getEnd *os.File
	agents chan *fakeAgent
	code   chan int
}

func newRig(t testing.TB, opt Options) *rig {
	t.Helper()
	in, send, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	get, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, send: send, get: bufio.NewReaderSize(get, 1<<20), getEnd: get, agents: make(chan *fakeAgent, 100), code: make(chan int, 1)}
	cfg := Config{Options: opt, In: in, Out: out, OutFD: -1}
	if raw, err := out.SyscallConn(); err == nil && canWriteNow {
		raw.Control(func(fd uintptr) { cfg.OutFD = int(fd) })
	}
	cfg.Start = func(int) (Process, error) {
		a := newFakeAgent(t)
		r.agents <- a
		return a, nil
	}
	r.loop = New(cfg)
	go func() {
		r.code <- r.loop.Run(context.Background())
		out.Close()
		in.Close()
	}()
	t.Cleanup(func() {
		r.loop.Terminate(0, "the test ends it")
		send.Close()
		get.Close()
		r.wait()
	})
	return r
}

const patience = 20 * time.Second

func (r *rig) agent() *fakeAgent {
	r.t.Helper()
	select {
	case a := <-r.agents:
		return a
	case <-time.After(patience):
		r.t.Fatal("no agent was started")
		return nil
	}
}

func (r *rig) wait() int {
	r.t.Helper()
	select {
	case code := <-r.code:
		r.code <- code
		return code
	case <-time.After(patience):
		r.t.Fatal("the loop does not end")
		return -1
	}
}

// read reads n bytes of the client's input.
func (r *rig) read(n int) []byte {
	r.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r.get, b); err != nil {
		r.t.Fatalf("the client got %d bytes less than it should: %v", n, err)
	}
	return b
}
