package proxy

import (
	"io"
	"time"

	"acp-shim/internal/agent"
)

// Spec says what to start as an agent; see [agent.Spec].
type Spec = agent.Spec

// Command starts an agent as a process of the system's.
func Command(s Spec) (Process, error) {
	p, err := agent.Start(s)
	if err != nil {
		return nil, err
	}
	c := &command{Process: p, fd: -1}
	if raw, err := p.Stdin.SyscallConn(); err == nil && canWriteNow {
		raw.Control(func(fd uintptr) { c.fd = int(fd) })
	}
	return c, nil
}

type command struct {
	*agent.Process
	fd int
}

func (c *command) Pid() int              { return c.Process.Pid }
func (c *command) Stdin() io.WriteCloser { return stdin{c.Process} }
func (c *command) StdinFD() int          { return c.fd }
func (c *command) Stdout() Stdout        { return c.Process.Stdout }

// stderrLast is how long the last words of a process are waited for: a tool
// that outlives it may hold its stderr open.
const stderrLast = 50 * time.Millisecond

func (c *command) Exit() Exit {
	t := time.NewTimer(stderrLast)
	defer t.Stop()
	select {
	case <-c.StderrDone():
	case <-t.C:
	}
	return Exit{Words: c.Process.Exit().Words, Stderr: c.Tail()}
}

// stdin closes through the process, which does it once.
type stdin struct{ p *agent.Process }

func (s stdin) Write(b []byte) (int, error) { return s.p.Stdin.Write(b) }
func (s stdin) Close() error                { s.p.CloseStdin(); return nil }
