package proxy

import (
	"io"
	"runtime/debug"
	"time"

	"acp-shim/internal/wire"
)

// readClient is the client's reader. It never waits for anybody.
func (l *Loop) readClient() {
	r := wire.NewReader(l.cfg.In, l.cfg.MaxFrame)
	for {
		batch, err := r.Next()
		if long, ok := wire.AsTooLong(err); ok {
			l.step(func() { l.core.clientTooLong(long.Head, l.cfg.MaxFrame) })
			continue
		}
		if err != nil {
			l.step(l.core.clientEOF)
			l.watchOut()
			return
		}
		l.mu.Lock()
		if !l.isOver {
			l.weigh(len(batch))
			for len(batch) > 0 {
				var line []byte
				line, batch = wire.Cut(batch)
				l.core.client(line)
			}
			l.flush()
		}
		l.mu.Unlock()
	}
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
	r := wire.NewReader(quietReader{p}, l.cfg.MaxFrame)
	for {
		l.awaitClient(gen, p)
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
			l.weigh(len(batch))
			for len(batch) > 0 {
				var line []byte
				line, batch = wire.Cut(batch)
				l.core.agentLine(gen, line)
			}
			l.flush()
		}
		l.mu.Unlock()
	}
}

// awaitClient waits while too much waits for the client, unless the agent owes
// an answer: a reader that pauses made a cancel that was honoured look ignored.
func (l *Loop) awaitClient(gen int, p *proc) {
	l.mu.Lock()
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
	l.mu.Unlock()
}

// quietReader ends the output of an agent that has exited when nothing has come
// for a while: a tool that outlives it may hold the pipe open.
type quietReader struct{ p *proc }

func (q quietReader) Read(b []byte) (int, error) {
	if q.p.over.Load() {
		return 0, io.EOF
	}
	if q.p.exited.Load() {
		q.p.Stdout().SetReadDeadline(time.Now().Add(quietAfter))
	}
	return q.p.Stdout().Read(b)
}

// heavy is the size of a batch after which memory is given back to the system.
const heavy = 4 << 20

// weigh gives memory back to the system a while after a large frame: the shim
// lives as long as an editor, and such a frame may come once.
func (l *Loop) weigh(size int) {
	if size < heavy {
		return
	}
	if l.lighten != nil {
		l.lighten.Stop()
	}
	l.lighten = time.AfterFunc(lightenAfter, debug.FreeOSMemory)
}

const lightenAfter = 500 * time.Millisecond
