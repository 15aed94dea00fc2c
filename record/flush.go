package record

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"
)

const (
	// batchSize is how much is written at once when much is waiting. What is in hand
	// between a frame and its file, the queue's chunks and this, stays in a
	// processor's second cache.
	batchSize = 256 << 10
	// largeFrame is what is written straight from the queue, without a copy.
	largeFrame = 1 << 20

	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
)

// file is what a capture is written to.
type file interface {
	io.Writer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// account is what is missing when a line is: what it says itself, and if it is a
// gap also what that names.
type account struct {
	kind  byte // 0 for a line of the header
	seq   uint64
	bytes uint64
	names *Gap
}

// addTo counts what the line says itself.
func (a *account) addTo(g *Gap) {
	own := Gap{First: a.seq, Last: a.seq, Bytes: a.bytes}
	switch a.kind {
	case 0:
		return
	case isFrame:
		own.Frames = 1
	default:
		own.Events = 1
	}
	g.add(own)
}

// flusher turns what is in the queue into lines and writes them. All of it
// belongs to the flusher's goroutine.
type flusher struct {
	w    *Writer
	file file
	run  string // its name
	part parts

	clean   cleaner
	secrets [][]byte // those that clean knows
	info    []byte   // what the agent has said of itself
	alike   alike
	forms   goodForms
	count   counter
	taken   [][]byte
	rec     record
	out     []byte // lines that are to be written
	// lines are those in out, and the one of which a part is written and the
	// rest still to come, in their order.
	lines []account

	ended int // how many of them are written to their end

	head   []byte // the header, until it is written
	heads  int    // how many of the lines are its
	torn   int64  // bytes written since the last line end
	wait   time.Duration
	gaveUp error // why nothing is written any more, at the end
	lost   Gap   // what could not be written by then
	total  Gap   // how much is in the capture
	gaps   Gap   // what its gaps name
}

func (f *flusher) flush() {
	defer close(f.w.done)
	defer f.w.keep.end()
	defer func() {
		if p := recover(); p != nil {
			f.breakDown(p)
		}
	}()
	f.learn()
	f.header(f.w.opt)
	f.emit()
	f.part.lines = 0
	for {
		select {
		case <-f.w.timer.C:
		case <-f.w.wake:
		case <-f.w.closing:
			f.w.err = f.finish()
			return
		}
		f.drain(false)
	}
}

// drain writes all that is in the queue, and goes on while much comes; what is little
// waits for the timer, or every frame would be a write of its own where this has a
// processor to itself. At the end nothing waits.
func (f *flusher) drain(end bool) {
	large := false
	for least := 0; f.take(least); {
		if !end {
			least = flushChunks
		}
		f.learn()
		f.rotate()
		for i, c := range f.taken {
			for rest := c; len(rest) > 0; {
				rest = f.rec.read(rest)
				f.line()
			}
			f.taken[i] = nil
			large = large || len(c)+f.rec.far > 4*largeFrame
			f.rec.bytes = nil
			f.w.mu.Lock()
			f.w.queue.give(c, f.rec.far)
			f.w.mu.Unlock()
			f.rec.far = 0
		}
		f.emit()
	}
	if large {
		// The process lives as long as an editor, and such a frame may come once.
		debug.FreeOSMemory()
	}
}

// take takes what is in the queue, if that is more than so many chunks.
func (f *flusher) take(least int) bool {
	w := f.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.queue.chunks); n > 0 && n <= least {
		return false
	}
	if len(w.queue.chunks) == 0 {
		// What was turned away is told even if nothing comes any more.
		w.gap()
	}
	w.armed = false
	w.timer.Stop()
	f.taken, f.rec.apart = w.queue.take(f.taken)
	return len(f.taken) > 0
}

// line adds the record that was read to what is to be written.
func (f *flusher) line() {
	r := &f.rec
	a := account{kind: r.kind, seq: r.seq, bytes: uint64(len(r.bytes) + len(r.data))}
	if r.kind == isGap {
		names := r.gap
		a.names = &names
	}
	if f.gaveUp != nil {
		f.lose(a)
		return
	}
	f.lines = append(f.lines, a)
	f.format(r)
	f.part.lines++
	if full := f.full(); full || len(f.out) >= batchSize {
		f.emit()
		if full {
			f.rotate()
		}
	}
}

// learn asks for the secrets that are known by now.
func (f *flusher) learn() {
	if f.w.opt.Secrets == nil || f.w.opt.Raw {
		return
	}
	if now := f.w.opt.Secrets(); !sameSecrets(now, f.secrets) {
		f.secrets = now
		f.clean.known = newHunter(slices.DeleteFunc(slices.Clone(now), func(s []byte) bool { return !huntable(s) }))
		f.alike.frame, f.forms = f.alike.frame[:0], goodForms{} // they may hold one
	}
}

// emit writes out, and tries again for as long as it takes, while the queue
// keeps what comes and then counts it. When the capture is being closed it
// tries once more and gives up.
func (f *flusher) emit() {
	f.put(f.out)
	f.out = f.out[:0]
	if cap(f.out) > 2*batchSize {
		f.out = nil
	}
	f.tally()
}

// breakDown ends the capture after a fault of this program's, and not the traffic.
func (f *flusher) breakDown(p any) {
	w := f.w
	w.err = fmt.Errorf("the capture %s ends early, by a fault of acp-shim that its makers want to hear of: %v", w.Path(), p)
	w.mu.Lock()
	w.broken, w.queue = true, queue{}
	w.mu.Unlock()
	if w.opt.Warn != nil {
		go w.opt.Warn(w.err)
	}
	if w.opt.Strict {
		w.stopped.Do(func() { go w.opt.Stop(w.err) })
	}
	f.file.Close()
}

// tally takes off the lines those that are written.
func (f *flusher) tally() {
	for i := range f.lines[:f.ended] {
		a := &f.lines[i]
		f.total.Bytes += a.bytes
		switch {
		case a.kind == isFrame:
			f.total.Frames++
		case a.kind != 0:
			f.total.Events++
		}
		if a.names != nil {
			f.gaps.add(*a.names)
		}
	}
	f.lines = append(f.lines[:0], f.lines[f.ended:]...)
	if f.heads -= f.ended; f.heads <= 0 {
		f.heads, f.head = 0, nil
	}
	f.ended = 0
}

// put writes b, or gives up.
func (f *flusher) put(b []byte) {
	last := false
	for len(b) > 0 && f.gaveUp == nil {
		n, err := f.file.Write(b)
		f.wrote(b[:n])
		b = b[n:]
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err == nil {
			if f.wait > 0 {
				f.wait = 0
				f.trouble("")
			}
			continue
		}
		if last {
			f.gaveUp = err
			return
		}
		f.trouble(err.Error())
		f.w.warn(fmt.Errorf("%w; it is tried again until it works", err))
		last = f.pause()
	}
}

// wrote keeps what has reached the file. The end of a line is the only line
// end in it.
func (f *flusher) wrote(b []byte) {
	f.part.size += int64(len(b))
	f.ended += bytes.Count(b, []byte{'\n'})
	if n := bytes.LastIndexByte(b, '\n'); n >= 0 {
		f.torn = int64(len(b) - n - 1)
	} else {
		f.torn += int64(len(b))
	}
}

func (f *flusher) trouble(why string) {
	f.w.mu.Lock()
	f.w.trouble = why
	f.w.mu.Unlock()
}

// pause waits before the next try, longer each time. It reports whether that is
// the last one.
func (f *flusher) pause() (last bool) {
	f.wait = min(max(retryFirst, 2*f.wait), retryLast)
	timer := time.NewTimer(f.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-f.w.closing:
		return true
	}
}
