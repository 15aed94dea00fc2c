package record

import (
	"fmt"
	"time"
)

// parts is the flusher's knowledge of the run's files.
type parts struct {
	n     int   // of the one that is written, from 1
	size  int64 // of it
	begun int64 // when it was, on the capture's clock
	lines int   // in it
	// open makes the nth; nil where all goes to one file.
	open func(n int) (file, string, error)
	// later is when a new one is tried for again, after one could not be made.
	later int64
}

// rotateAgain is the time between two tries to begin a new file.
const rotateAgain = 10 * time.Second

// full reports whether the file would be full with what waits to be written.
func (f *flusher) full() bool {
	return f.w.opt.RotateSize > 0 && f.part.open != nil && f.part.size+int64(len(f.out)) >= f.w.opt.RotateSize
}

// rotate begins a new file where the one that is written is full or old. It does
// so between two lines only, and not while anything is in trouble.
func (f *flusher) rotate() {
	opt, p := &f.w.opt, &f.part
	if p.open == nil || p.lines == 0 || f.torn > 0 || len(f.lines) > 0 || len(f.out) > 0 || f.gaveUp != nil {
		return
	}
	f.w.mu.Lock()
	now := f.w.since()
	f.w.mu.Unlock()
	if !f.full() && (opt.RotateAge <= 0 || now-p.begun < int64(opt.RotateAge)) || now < p.later {
		return
	}
	next, path, err := p.open(p.n + 1)
	if err != nil {
		if p.later == 0 {
			f.w.tell(fmt.Errorf("no new file is begun, this one grows on: %w", err))
		}
		p.later = now + int64(rotateAgain)
		return
	}
	f.w.keep.take(f.file, f.w.Path(), p.n)
	f.w.path.Store(&path)
	f.file = next
	*p = parts{n: p.n + 1, begun: now, open: p.open}
	f.header(f.w.opt)
	f.emit()
	p.lines = 0
}
