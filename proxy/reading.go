package proxy

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"acp-shim/internal/wire"
)

// readClient is the client's reader. It waits for nobody but a client that asks on
// and on and takes none of the answers.
func (l *Loop) readClient() {
	r := wire.NewReader(l.cfg.In, l.cfg.MaxFrame)
	for {
		batch, err := r.Next()
		if long, ok := wire.AsTooLong(err); ok {
			l.step(func() { l.core.clientTooLong(long.Head, l.cfg.MaxFrame) })
			continue
		}
		if err != nil {
			l.step(func() { l.unread(err) })
			l.watchOut()
			return
		}
		l.mu.Lock()
		if !l.isOver {
			l.ballast.weigh(len(batch))
			for len(batch) > 0 {
				var line []byte
				line, batch = wire.Cut(batch)
				l.core.client(line)
			}
			l.flush()
			l.awaitAsker()
		}
		l.mu.Unlock()
	}
}

// awaitAsker waits, under the lock, while more waits for the client than agents can
// be the cause of, who are read no further long before: it is answers of the shim's own.
func (l *Loop) awaitAsker() {
	for l.out.waiting() > heldLimit+l.cfg.MaxFrame && l.out.err == nil && !l.isOver {
		l.paused++
		l.drained.Wait()
		l.paused--
	}
}

// codeIO is the exit code after an error of the client's ends; sysexits.h has this number
// for an error of input or output.
const codeIO = 74

// unread is the end of what the client says, orderly or not.
func (l *Loop) unread(err error) {
	if err != io.EOF && !hasGone(err) {
		l.log(slog.LevelError, "the client cannot be read any more, which is taken as its end", "error", err.Error())
		l.core.code = codeIO
	}
	l.core.clientEOF()
}

// unwritten is that nothing can be written to the client any more. A pipe without a
// reader is how clients go; a file, of whoever redirects the output, fails otherwise.
func (l *Loop) unwritten(err error) {
	if hasGone(err) || l.core.since != "" {
		l.log(slog.LevelInfo, "the client does not read any more", "error", err.Error())
		l.core.clientGone()
		return
	}
	l.sayUnwritten(err)
	l.core.terminate(codeIO, "nothing can be written to the client any more")
}

// lastUnwritten is unwritten for the last lines, when there is nothing more to end.
func (l *Loop) lastUnwritten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.err; err != nil && !hasGone(err) && l.code == 0 {
		l.sayUnwritten(err)
		l.code = codeIO
	}
}

func (l *Loop) sayUnwritten(err error) {
	if !l.broken {
		l.broken = true
		l.log(slog.LevelError, "nothing can be written to the client any more: everything ends", "error", err.Error())
	}
}

// hasGone tells that an error of the client's ends is how the client goes.
func hasGone(err error) bool {
	for _, code := range goneCodes {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

// watchOut sees whether anybody still reads what the shim writes, once the
// client's output has ended: one that was killed shall not be waited for.
func (l *Loop) watchOut() {
	if l.cfg.OutFD < 0 {
		return
	}
	for !hungUp(l.cfg.OutFD) {
		select {
		case <-l.finish:
			return
		case <-time.After(quietAfter):
		}
	}
	l.step(l.core.clientGone)
}

// readAgent is an agent's reader.
func (l *Loop) readAgent(gen int, p *proc) {
	r := wire.NewReader(&quietReader{p: p, out: p.Stdout()}, l.cfg.MaxFrame)
	for {
		batch, err := r.Next()
		if long, ok := wire.AsTooLong(err); ok {
			l.step(func() { l.core.agentTooLong(gen, long.Head, l.cfg.MaxFrame) })
			continue
		}
		if err != nil {
			return
		}
		l.mu.Lock()
		if !l.isOver {
			l.ballast.weigh(len(batch))
			for len(batch) > 0 {
				var line []byte
				line, batch = wire.Cut(batch)
				l.core.agentLine(gen, line)
			}
			l.flush()
		}
		l.awaitClient(gen, p)
		l.mu.Unlock()
	}
}

// awaitClient waits while too much waits for the client, unless the agent owes
// an answer: a reader that pauses made a cancel that was honoured look ignored.
func (l *Loop) awaitClient(gen int, p *proc) {
	for l.out.waiting() > pauseAbove && l.out.err == nil && !l.isOver && !p.exited.Load() {
		a := l.core.agentOf(gen)
		if a == nil || a.state >= condemned || a.owes() && l.out.waiting() < pauseAlways {
			break
		}
		a.paused = true
		l.paused++
		l.drained.Wait()
		l.paused--
		a.paused = false
	}
}

// quietReader ends the output of an agent that has exited when nothing has come
// for a while, or more than a pipe holds: a tool that outlives it may hold the pipe
// open, and what it says may have no end.
type quietReader struct {
	p    *proc
	out  Stdout
	late int // bytes that were read after it had exited
}

// mostLate is more than any pipe holds.
const mostLate = 16 << 20

func (q *quietReader) Read(b []byte) (int, error) {
	if q.p.over.Load() {
		return 0, io.EOF
	}
	exited := q.p.exited.Load()
	if exited {
		if q.late > mostLate {
			return 0, io.EOF
		}
		q.out.SetReadDeadline(time.Now().Add(quietAfter))
	}
	n, err := q.out.Read(b)
	if exited {
		q.late += n
	}
	return n, err
}
