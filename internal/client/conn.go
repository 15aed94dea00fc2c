package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/agent"
	"acp-shim/internal/wire"
)

// Line is one line of a connection, as it was written or read.
type Line struct {
	At time.Time
	// Sent tells that it went to the agent.
	Sent bool
	// Bytes are its bytes with its line end, if it had one; nobody changes them.
	Bytes []byte
	// Index is its place among the connection's lines, from 0.
	Index int
}

// Options say what to start, and who is told what is said.
type Options struct {
	// Spec is the agent; see [agent.Start].
	Spec agent.Spec
	// Seen is called for each line in the order of the connection, under its
	// lock: it must not block and must not call the Conn. It may be nil.
	Seen func(Line)
	// Answer answers what the agent asks: body is the text of a "result" or
	// "error" member, name and colon included. With later set nothing is answered;
	// the caller does so with Respond. Nil answers permission requests with
	// cancelled, and all else with -32601.
	Answer func(method string, params gjson.Result, id string) (body string, later bool)
	// MaxLine is the longest line that is read; 0 is [wire.DefaultMax].
	MaxLine int
	// MaxKept is how many bytes of lines are kept, since an agent may talk for
	// ever: beyond it the connection is over, with a *TooMuchError. 0 is 256 MiB.
	MaxKept int
	// FirstID is the id of the first request; those of several connections that go
	// into one capture must differ.
	FirstID int
	// WriteTimeout is how long the agent may leave a line unread that does not fit
	// into its pipe; 0 is 30 s. Nothing can be written after that.
	WriteTimeout time.Duration
}

const (
	defaultKept         = 256 << 20
	defaultWriteTimeout = 30 * time.Second
	// lineCost is what a line takes beside its bytes: an agent may send short ones.
	lineCost = 128
	// maxOwed is how many answers may wait for an agent that does not read them.
	maxOwed = 4096
)

// Conn is a client's connection to one agent process.
type Conn struct {
	Process *agent.Process
	opt     Options

	// writing is held while a line is written, so that lines are noted in the
	// order in which they went out. It is taken before mu.
	writing sync.Mutex

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when lines or ended change
	lines   []Line
	kept    int
	owed    int // answers to the agent's requests that are not written yet
	waiting map[string]*Call
	next    int
	ended   error
}

// Start starts the agent. Its error is what [agent.Start] has.
func Start(opt Options) (*Conn, error) {
	if opt.MaxKept <= 0 {
		opt.MaxKept = defaultKept
	}
	if opt.WriteTimeout <= 0 {
		opt.WriteTimeout = defaultWriteTimeout
	}
	p, err := agent.Start(opt.Spec)
	if err != nil {
		return nil, err
	}
	c := &Conn{Process: p, opt: opt, changed: make(chan struct{}), waiting: map[string]*Call{}, next: opt.FirstID}
	go c.read()
	return c, nil
}

func (c *Conn) read() {
	r := wire.NewReader(c.Process.Stdout, c.opt.MaxLine)
	for {
		batch, err := r.Next()
		var long *wire.TooLong
		for len(batch) > 0 {
			n := bytes.IndexByte(batch, '\n') + 1
			if n == 0 {
				n = len(batch)
			}
			if !c.take(bytes.Clone(batch[:n])) {
				return
			}
			batch = batch[n:]
		}
		if err != nil && !errors.As(err, &long) {
			c.end(err)
			return
		}
	}
}

// take notes a line of the agent's, settles the request that it answers, and
// answers what it asks. It reports false where no more is kept.
func (c *Conn) take(line []byte) bool {
	m := &wire.Message{}
	m.Parse(line)
	c.mu.Lock()
	now := time.Now()
	if c.kept+len(line)+lineCost > c.opt.MaxKept {
		c.endLocked(&TooMuchError{c.opt.MaxKept})
		c.mu.Unlock()
		return false
	}
	index := c.note(Line{At: now, Bytes: line})
	var call *Call
	id := string(m.Text(m.ID))
	if m.Method == "" && id != "" {
		if call = c.waiting[id]; call != nil {
			delete(c.waiting, id)
		}
	}
	c.mu.Unlock()
	switch {
	case call != nil:
		call.answer = Answer{At: now, Sent: call.sent, Line: line, Index: index,
			Result: gjson.ParseBytes(m.Text(m.Result)), Error: gjson.ParseBytes(m.Text(m.Error))}
		close(call.done)
	case m.Method != "" && id != "":
		c.asked(m, id)
		return c.owe(0) <= maxOwed
	}
	return true
}

func (c *Conn) asked(m *wire.Message, id string) {
	answer := c.opt.Answer
	if answer == nil {
		answer = Decline
	}
	body, later := answer(m.Method, gjson.ParseBytes(m.Text(m.Params)), id)
	if !later {
		// Not from here: who answers must go on reading, or both sides wait.
		if c.owe(1) > maxOwed {
			c.end(&DeafError{maxOwed})
			return
		}
		go func() {
			defer c.owe(-1)
			_ = c.Respond(id, body) // an agent that is gone needs no answer
		}()
	}
}

// owe notes answers that are to be written, or have been.
func (c *Conn) owe(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed += n
	return c.owed
}

// Decline answers what an agent asks as a client does that offers nothing.
func Decline(method string, _ gjson.Result, _ string) (string, bool) {
	if method == "session/request_permission" {
		return `"result":{"outcome":{"outcome":"cancelled"}}`, false
	}
	return `"error":{"code":-32601,"message":"Method not found"}`, false
}

// note must be called with the lock held. It returns the line's index.
func (c *Conn) note(l Line) int {
	l.Index = len(c.lines)
	c.kept += len(l.Bytes) + lineCost
	c.lines = append(c.lines, l)
	if c.opt.Seen != nil {
		c.opt.Seen(l)
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return l.Index
}

func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var deaf *DeafError
	if !errors.Is(err, io.EOF) && !errors.As(err, &deaf) {
		err = fmt.Errorf("reading from the agent: %w", err)
	}
	c.endLocked(err)
}

func (c *Conn) endLocked(err error) {
	c.ended = err
	for id, call := range c.waiting {
		delete(c.waiting, id)
		close(call.done)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Write writes bytes to the agent as they are; a line needs its end.
func (c *Conn) Write(b []byte) error {
	_, err := c.write(b)
	return err
}

func (c *Conn) write(b []byte) (index int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	index = c.note(Line{At: time.Now(), Sent: true, Bytes: bytes.Clone(b)})
	c.mu.Unlock()
	// Where the system has no deadlines for pipes, the end of the process ends
	// the write.
	c.Process.Stdin.SetWriteDeadline(time.Now().Add(c.opt.WriteTimeout))
	if _, err = c.Process.Stdin.Write(b); err != nil {
		err = fmt.Errorf("writing to the agent: %w", err)
	}
	return index, err
}

// Request sends a request with the next number as its id. params is JSON.
func (c *Conn) Request(method, params string) *Call {
	c.mu.Lock()
	id := strconv.Itoa(c.next)
	c.next++
	c.mu.Unlock()
	return c.RequestID(id, method, params)
}

// RequestID sends a request with an id of the caller's, as its JSON text.
func (c *Conn) RequestID(id, method, params string) *Call {
	if params != "" {
		params = `,"params":` + params
	}
	return c.RequestLine(id, method, []byte(`{"jsonrpc":"2.0","id":`+id+`,"method":`+wire.Quote(method)+params+"}\n"))
}

// RequestLine sends a line that is a request with this id.
func (c *Conn) RequestLine(id, method string, line []byte) *Call {
	call := &Call{conn: c, Method: method, ID: id, done: make(chan struct{}), sent: time.Now()}
	c.mu.Lock()
	if c.ended != nil {
		close(call.done)
	} else {
		c.waiting[id] = call
	}
	c.mu.Unlock()
	index, err := c.write(line)
	call.Index = index
	if err != nil {
		c.mu.Lock()
		if c.waiting[id] == call {
			call.failed = err
			delete(c.waiting, id)
			close(call.done)
		}
		c.mu.Unlock()
	}
	return call
}

// Notify sends a notification.
func (c *Conn) Notify(method, params string) error {
	return c.Write([]byte(`{"jsonrpc":"2.0","method":` + wire.Quote(method) + `,"params":` + params + "}\n"))
}

// Respond answers a request of the agent's; body is as Options.Answer has it.
func (c *Conn) Respond(id, body string) error {
	return c.Write([]byte(`{"jsonrpc":"2.0","id":` + id + `,` + body + "}\n"))
}

// Lines are all lines from the from'th on, both ways.
func (c *Conn) Lines(from int) []Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[min(from, len(c.lines)):len(c.lines):len(c.lines)]
}

// WaitLine is the first line of the agent's, from the from'th line of the
// connection on, that ok takes. It waits for one.
func (c *Conn) WaitLine(ctx context.Context, from int, ok func(Line) bool) (Line, error) {
	for {
		c.mu.Lock()
		lines, changed, ended := c.lines, c.changed, c.ended
		c.mu.Unlock()
		for ; from < len(lines); from++ {
			if l := lines[from]; !l.Sent && ok(l) {
				return l, nil
			}
		}
		if ended != nil {
			return Line{}, c.lost("what was waited for came")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Line{}, ctx.Err()
		}
	}
}

// exitPatience is how long an agent whose output has ended has to end itself,
// so that an error can say how.
const exitPatience = 500 * time.Millisecond

// lost is the error of an agent that is gone before something.
func (c *Conn) lost(before string) error {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	var much *TooMuchError
	var deaf *DeafError
	if errors.As(ended, &much) || errors.As(ended, &deaf) {
		return ended
	}
	e := &GoneError{Before: before}
	select {
	case <-c.Process.Done():
		e.Exit = c.Process.Exit().Words
	case <-time.After(exitPatience):
	}
	select {
	case <-c.Process.StderrDone():
	case <-time.After(exitPatience):
	}
	e.Stderr = c.Process.Tail()
	return e
}

// unwritten is the error of what could not be written: that the agent is gone,
// where that is why.
func (c *Conn) unwritten(err error, before string) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	select {
	case <-c.Process.Done():
		return c.lost(before)
	case <-time.After(exitPatience):
		return err
	}
}

// Close ends the agent: softly at first, by the end of its input, then with all
// that it started.
func (c *Conn) Close(patience time.Duration) agent.Exit {
	c.Process.Expect()
	c.Process.CloseStdin()
	select {
	case <-c.Process.Done():
	case <-time.After(patience):
	}
	c.Process.Kill()
	<-c.Process.Done()
	c.Process.Release()
	<-c.Process.Gone()
	return c.Process.Exit()
}
