package agent

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"
)

const (
	stderrPiece   = 64 << 10               // where a line is cut
	stderrWaiting = 1 << 20                // what may wait for Spec.Stderr
	stderrIdle    = 200 * time.Millisecond // when an unfinished line is handed on
)

// stderrReader empties a child's stderr as fast as it comes. The agent dumps
// megabytes there ("RAW WS MSG:"), and one that blocks on stderr answers
// nothing: so reading never waits for whoever takes the lines.
type stderrReader struct {
	r    *os.File
	tail tail
	done chan struct{}

	take func([]byte)
	lost func(int, int64)

	mu      sync.Mutex
	wake    sync.Cond // a piece was queued, or the end
	queue   []stderrItem
	waiting int // bytes in queue
	ended   bool

	dropping bool // read's: the line that is being read is lost
}

// stderrItem is a piece, or a gap where pieces were lost.
type stderrItem struct {
	piece     []byte
	lostLines int
	lostBytes int64
}

// SkipLines makes a Spec.Stderr that leaves out the lines of which skip is true,
// and hands the others to next. skip is asked with a line's first piece only:
// the further pieces of a line that is cut do not begin as it does.
func SkipLines(skip func(first []byte) bool, next func(piece []byte)) func([]byte) {
	inside, skipping := false, false
	return func(piece []byte) {
		if !inside {
			skipping = skip(piece)
		}
		inside = len(piece) > 0 && piece[len(piece)-1] != '\n'
		if !skipping {
			next(piece)
		}
	}
}

func newStderrReader(r *os.File, s Spec) *stderrReader {
	e := &stderrReader{r: r, take: s.Stderr, lost: s.StderrLost, done: make(chan struct{})}
	e.wake.L = &e.mu
	e.tail.skip = s.TailSkip
	go e.read()
	go e.deliver()
	return e
}

func (e *stderrReader) close() { e.r.Close() }

func (e *stderrReader) read() {
	defer func() {
		e.r.Close()
		e.mu.Lock()
		e.ended = true
		e.mu.Unlock()
		e.wake.Signal()
	}()
	buf := make([]byte, 0, 4<<10)
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(2*cap(buf), stderrPiece)), buf...)
		}
		if len(buf) > 0 {
			e.r.SetReadDeadline(time.Now().Add(stderrIdle))
		} else {
			e.r.SetReadDeadline(time.Time{})
		}
		n, err := e.r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		start := 0
		for {
			i := bytes.IndexByte(buf[start:], '\n')
			if i < 0 {
				break
			}
			e.put(buf[start : start+i+1])
			start += i + 1
		}
		buf = buf[:copy(buf, buf[start:])]
		if err != nil || len(buf) == stderrPiece {
			if len(buf) > 0 {
				e.put(buf)
				buf = buf[:0]
			}
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
		}
	}
}

// put queues a copy of a piece, or counts it as lost.
func (e *stderrReader) put(piece []byte) {
	e.tail.add(piece)
	if e.take == nil {
		return
	}
	e.mu.Lock()
	if e.dropping || e.waiting+len(piece) > stderrWaiting {
		// The rest of its line goes with it: it would look like a line.
		e.dropping = piece[len(piece)-1] != '\n'
		last := len(e.queue) - 1
		if last < 0 || e.queue[last].piece != nil {
			e.queue = append(e.queue, stderrItem{})
			last++
		}
		e.queue[last].lostBytes += int64(len(piece))
		if !e.dropping {
			e.queue[last].lostLines++
		}
	} else {
		e.queue = append(e.queue, stderrItem{piece: bytes.Clone(piece)})
		e.waiting += len(piece)
	}
	e.mu.Unlock()
	e.wake.Signal()
}

func (e *stderrReader) deliver() {
	defer close(e.done)
	for {
		e.mu.Lock()
		for len(e.queue) == 0 && !e.ended {
			e.wake.Wait()
		}
		batch := e.queue
		e.queue = nil
		e.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, item := range batch {
			if item.piece == nil {
				if e.lost != nil {
					e.lost(item.lostLines, item.lostBytes)
				}
				continue
			}
			e.take(item.piece)
			e.mu.Lock()
			e.waiting -= len(item.piece)
			e.mu.Unlock()
		}
	}
}
