package record

import (
	"bytes"
	"errors"
	"fmt"
)

// finish writes what is left and the end event, and closes the file.
func (f *flusher) finish() error {
	f.drain(true)
	f.tally()
	cause := f.gaveUp
	if cause != nil {
		// What stands in the file stays readable: the torn line goes, and what
		// would have followed is named. That is little, and may fit.
		for _, a := range f.lines {
			f.lose(a)
		}
		f.lines, f.gaveUp = f.lines[:0], nil
		f.lost.Why = cause.Error()
		f.gaps.add(f.lost)
		f.untear()
	}
	f.out = f.out[:0]
	if f.torn > 0 {
		f.out = append(f.out, '\n')
	}
	f.out = append(f.out, f.head...)
	w := f.w
	seq, t, summary := f.last()
	if f.lost.any() {
		f.rec = record{kind: isGap, seq: seq, t: t, gap: f.lost}
		f.format(&f.rec)
		seq++
	}
	f.endLine(seq, t, summary)
	f.put(f.out)
	if f.gaveUp != nil {
		cause = f.gaveUp
		f.untear()
	}
	var errs []error
	if cause != nil {
		errs = append(errs, fmt.Errorf("the capture %s ends early: %w; %d frames and %d events are missing",
			w.Path(), cause, f.lost.Frames, f.lost.Events))
	}
	if err := f.file.Sync(); err != nil {
		errs = append(errs, fmt.Errorf("the capture %s may not be on the disk: %w", w.Path(), err))
	}
	if err := f.file.Close(); err != nil {
		errs = append(errs, fmt.Errorf("closing the capture %s: %w", w.Path(), err))
	}
	return errors.Join(errs...)
}

// last takes what the last lines need, of which the first has the number seq. What is
// done with it is done without the lock: a fault there ends the capture only.
func (f *flusher) last() (seq uint64, t int64, summary []byte) {
	w := f.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	seq, t, summary = w.seq, w.since(), bytes.Clone(w.summary)
	if f.lost.any() {
		w.seq++
	}
	return seq, t, summary
}

func (f *flusher) lose(a account) {
	a.addTo(&f.lost)
	if a.names != nil {
		f.lost.add(*a.names)
	}
}

// untear takes the beginning of a line off the end of the file.
func (f *flusher) untear() {
	if f.torn == 0 {
		return
	}
	size, err := f.file.Size()
	if err == nil && f.file.Truncate(size-f.torn) == nil {
		f.torn = 0
	}
}
