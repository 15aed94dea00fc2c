package replay

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"acp-shim/internal/wire"
)

// Player is the recorded agent, from its client's end: what a client writes is
// what the agent reads, and what it reads is what the agent says. It is a pipe
// without a process: give it to a client in the place of the agent's stdin and
// stdout.
//
// Write and Read may be called at the same time from different goroutines. Writing
// does not wait for reading: what is to be said is remembered as places in the
// recording. Only errors of the player's own take memory, and where they are
// more than 16 MiB, Write waits until some were read.
type Player struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when something a waiter waits for may be there
	e       engine
	in      []byte // a line that has not ended
	tooLong bool   // of it the rest is passed over
	ended   bool   // the client says no more
	closed  bool
	err     error
	out     []byte // of the frame that is being read
}

// Agent is the recorded agent for one client, at the beginning of its life.
func (s *Script) Agent() *Player {
	p := &Player{changed: make(chan struct{})}
	p.e.init(s, time.Now())
	return p
}

// maxOwn is how much the player's own errors may take.
const maxOwn = 16 << 20

func (p *Player) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Write takes bytes of the client's; they need not end with a line. It fails with
// [io.ErrClosedPipe] after Close or CloseWrite, and with what went wrong where
// the recording cannot be read any more.
func (p *Player) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(b) {
		for p.e.own > maxOwn && !p.closed && p.err == nil {
			changed := p.changed
			p.mu.Unlock()
			<-changed
			p.mu.Lock()
		}
		if p.err != nil {
			return n, p.err
		}
		if p.closed || p.ended {
			return n, io.ErrClosedPipe
		}
		part := b[n:]
		end := bytes.IndexByte(part, '\n') + 1
		if end > 0 {
			part = part[:end]
		}
		p.take(part, end > 0)
		n += len(part)
	}
	return n, nil
}

func (p *Player) take(part []byte, whole bool) {
	switch {
	case p.tooLong:
	case len(p.in)+len(part) > wire.DefaultMax:
		p.tooLong, p.in = true, nil
		p.e.reply(errorAnswer("null", codeInvalid, "acp-shim replay: the line is too long", nil))
		p.tell()
	case whole && len(p.in) == 0:
		p.line(part)
		return
	default:
		p.in = append(p.in, part...)
	}
	if whole {
		line := p.in
		p.in, p.tooLong = nil, false
		if len(line) > 0 {
			p.line(line)
		}
	}
}

func (p *Player) line(line []byte) {
	now := time.Now()
	if err := p.e.client(line, now); err != nil {
		p.err = err
	}
	p.e.advance(now)
	p.tell()
}

// Read gives what the agent says next. It waits for it, and ends with [io.EOF] after
// Close, and after CloseWrite when all is said that does not wait for the
// client.
func (p *Player) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.out) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if p.closed {
			return 0, io.EOF
		}
		due := p.e.advance(time.Now())
		line, err := p.e.pop()
		switch {
		case err != nil:
			p.err = err
		case line != nil:
			p.out = line
			p.tell()
		case p.ended && due.IsZero():
			return 0, io.EOF
		default:
			p.wait(due)
		}
	}
	n := copy(b, p.out)
	p.out = p.out[n:]
	return n, nil
}

// wait waits for a change, or until something is due.
func (p *Player) wait(due time.Time) {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	if due.IsZero() {
		<-changed
		return
	}
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
}

// CloseWrite ends what the client says, as the end of the agent's stdin does.
func (p *Player) CloseWrite() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return os.ErrClosed
	}
	if !p.ended && len(p.in) > 0 {
		p.line(p.in)
		p.in = nil
	}
	p.ended = true
	p.tell()
	return nil
}

// Close ends the player; a Read that waits returns. It never fails.
func (p *Player) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.out = true, nil
	p.tell()
	return nil
}

// Misses counts the requests that no recorded one was like.
func (p *Player) Misses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.e.misses
}

// Stdin is the agent's input alone: closing it is CloseWrite.
func (p *Player) Stdin() io.WriteCloser { return stdin{p} }

type stdin struct{ p *Player }

func (s stdin) Write(b []byte) (int, error) { return s.p.Write(b) }
func (s stdin) Close() error                { return s.p.CloseWrite() }
