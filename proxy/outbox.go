package proxy

import (
	"io"
	"sync"
	"time"
	"unsafe"

	"acp-shim/internal/wire"
)

// outbox is the way out to one peer. All its fields belong to the loop's lock.
//
// Lines are gathered during a step and leave in one write at its end. Where the
// descriptor does not block, that write is tried at once, under the lock; what
// does not fit, and everything for other kinds of files, goes to a goroutine of
// its own, which is the only one that may wait.
type outbox struct {
	mu   *sync.Mutex
	w    io.Writer
	fd   int // for the write without waiting; -1 where there is none
	cond sync.Cond

	view    []byte // lines of this step that lie side by side in a reader's buffer
	batch   []byte // lines of this step that do not
	queue   []byte // waits for the goroutine
	spare   []byte
	blocks  [][]byte // wait behind the queue
	behind  int      // bytes in them
	most    int      // has waited since nothing did
	busy    bool     // the goroutine writes
	inHand  int      // bytes it has in hand
	midline bool     // the last byte written ended no line
	ending  bool     // to be closed when the queue is empty
	closed  bool
	written uint64
	err     error

	// onClose closes the descriptor; onError and onProgress tell the loop, and onEmpty,
	// with how much it was at the most, that nothing waits any more; onMore tells that
	// more does. All are called under the lock.
	onClose    func()
	onError    func(err error)
	onProgress func()
	onEmpty    func(most int)
	onMore     func()

	piece int // how much run writes at once; its own
}

func newOutbox(mu *sync.Mutex, w io.Writer, fd int) *outbox {
	o := &outbox{mu: mu, w: w, fd: fd, piece: leastPiece}
	o.cond.L = mu
	return o
}

// What waits is written in pieces, so that progress can be seen: that of a peer which
// takes little at a time as well, who must not be taken for one that takes nothing.
const (
	leastPiece = 4 << 10
	mostPiece  = 32 << 10
)

// nextPiece is how much to write next, where the last piece took so long.
func nextPiece(piece int, took time.Duration) int {
	if took < 10*time.Millisecond {
		return min(4*piece, mostPiece)
	}
	return max(piece/8, leastPiece)
}

// keepQueue is the largest buffer that is kept for the next time.
const keepQueue = 1 << 20

// put adds a line to this step's. line must stay as it is until flush.
func (o *outbox) put(line []byte) {
	if o.closed || o.ending || o.err != nil || len(line) == 0 {
		return
	}
	if o.midline {
		// A stream's last line had no end, and more follows after all.
		o.midline = false
		o.gather()
		o.batch = append(o.batch, '\n')
	}
	o.midline = line[len(line)-1] != '\n'
	switch {
	case len(o.view) == 0 && len(o.batch) == 0:
		o.view = line
	case len(o.batch) == 0 && adjacent(o.view, line):
		o.view = o.view[:len(o.view)+len(line)]
	default:
		o.gather()
		o.batch = append(o.batch, line...)
	}
}

// gather moves the view into the batch, since what follows lies elsewhere.
func (o *outbox) gather() {
	o.batch = append(o.batch, o.view...)
	o.view = nil
}

// adjacent tells that b begins in memory where a ends, within a's capacity.
func adjacent(a, b []byte) bool {
	return cap(a) >= len(a)+len(b) && unsafe.Pointer(unsafe.SliceData(b)) == unsafe.Add(unsafe.Pointer(unsafe.SliceData(a)), len(a))
}

// flush sends this step's lines.
func (o *outbox) flush() {
	out := o.view
	if len(o.batch) > 0 {
		out = o.batch
	}
	if len(out) == 0 {
		return
	}
	alone := len(out) > wire.Alone && len(o.batch) == 0
	if o.fd >= 0 && !o.busy && o.waiting() == 0 && !o.closed && o.err == nil {
		n, err := writeNow(o.fd, out)
		o.written += uint64(n)
		out = out[n:]
		if err != nil {
			o.fail(err)
		}
	}
	if len(out) > 0 && o.err == nil && !o.closed {
		switch {
		case alone:
			// Nobody writes to its buffer again.
			o.blocks, o.behind = append(o.blocks, out[:len(out):len(out)]), o.behind+len(out)
		case len(o.blocks) == 0 && len(o.queue)+len(out) <= keepQueue:
			o.queue = append(o.queue, out...)
		default:
			o.block(out)
		}
		o.most = max(o.most, o.waiting())
		o.cond.Signal()
		if o.onMore != nil {
			o.onMore()
		}
	}
	o.view = nil
	if cap(o.batch) > keepQueue {
		o.batch = nil
	}
	o.batch = o.batch[:0]
}

// block keeps a copy of what is too much for the queue: a buffer that grew with what
// waits would leave as much behind.
func (o *outbox) block(out []byte) {
	o.behind += len(out)
	if last := len(o.blocks) - 1; last >= 0 {
		if b := o.blocks[last]; cap(b)-len(b) >= len(out) {
			o.blocks[last] = append(b, out...)
			return
		}
	}
	o.blocks = append(o.blocks, append(make([]byte, 0, max(len(out), keepQueue)), out...))
}

// next takes what is to be written first, which may be nothing. own tells that its
// buffer is the queue's.
func (o *outbox) next() (buf []byte, own bool) {
	if len(o.queue) > 0 {
		buf = o.queue
		o.queue, o.spare = o.spare[:0], nil
		return buf, true
	}
	if len(o.blocks) > 0 {
		buf, o.blocks[0] = o.blocks[0], nil
		o.blocks, o.behind = o.blocks[1:], o.behind-len(buf)
	}
	return buf, false
}

func (o *outbox) fail(err error) {
	if o.err != nil {
		return
	}
	o.err = err
	o.queue, o.blocks, o.behind = nil, nil, 0
	if o.onError != nil {
		o.onError(err)
	}
}

// waiting is how many bytes have not been taken yet.
func (o *outbox) waiting() int { return len(o.queue) + o.behind + o.inHand }

// end closes the way behind what waits.
func (o *outbox) end() {
	o.flush()
	o.ending = true
	if o.waiting() == 0 {
		o.close()
	}
	o.cond.Signal()
}

// discard closes the way at once and tells how much was never sent.
func (o *outbox) discard() int {
	n := len(o.view) + len(o.batch) + o.waiting()
	o.view, o.batch, o.queue, o.blocks, o.behind = nil, nil, nil, nil, 0
	o.close()
	o.cond.Signal()
	return n
}

func (o *outbox) close() {
	if o.closed {
		return
	}
	o.closed = true
	if o.onClose != nil {
		o.onClose()
	}
}

// run writes what waits, until the way is closed. It is the outbox's goroutine.
func (o *outbox) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue)+o.behind == 0 && !o.closed {
			if o.ending {
				o.close()
				return
			}
			o.cond.Wait()
		}
		if o.closed {
			return
		}
		buf, own := o.next()
		whole := buf
		o.busy, o.inHand = true, len(buf)
		o.mu.Unlock()
		for len(buf) > 0 {
			began := time.Now()
			n, err := o.w.Write(buf[:min(len(buf), o.piece)])
			o.piece = nextPiece(o.piece, time.Since(began))
			buf = buf[n:]
			o.mu.Lock()
			o.written += uint64(n)
			o.inHand -= n
			if err != nil {
				o.fail(err)
			}
			if o.onProgress != nil {
				o.onProgress()
			}
			stop := o.err != nil || o.closed
			o.mu.Unlock()
			if stop {
				break
			}
		}
		o.mu.Lock()
		o.busy, o.inHand = false, 0
		if own && cap(whole) <= keepQueue {
			o.spare = whole[:0]
		}
		if o.waiting() == 0 {
			if o.onEmpty != nil {
				o.onEmpty(o.most)
			}
			o.most = 0
		}
	}
}
