package status

import (
	"maps"
	"runtime"
	"slices"
	"time"
)

// SetExclusive notes how processes are used. It may be called under the loop's
// lock.
func (b *Board) SetExclusive(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now.Exclusive != on {
		b.now.Exclusive = on
		b.changed()
	}
}

// run writes what has changed. It sleeps on wake while nothing does. What cannot be
// written now may be with the next change: a disk is full for a while, or the state
// directory was removed.
func (b *Board) run() {
	defer close(b.done)
	var sink Sink
	defer func() {
		if sink != nil {
			sink.End()
		}
	}()
	pause := time.NewTimer(every)
	defer pause.Stop()
	for warned := false; ; {
		select {
		case <-b.wake:
		case <-b.ending:
			return
		}
		pause.Reset(every)
		select {
		case <-pause.C:
		case <-b.ending:
			return
		}
		now := b.Snapshot()
		again := sink != nil
		err := b.write(&sink, now)
		if err != nil && again {
			err = b.write(&sink, now) // into a file that is begun anew
		}
		switch {
		case err == nil && sink == nil:
			return // nothing is kept here
		case err != nil && !warned:
			warned = true
			b.warn(err)
		}
	}
}

// write opens the sink where it is not open, and gives it up where that fails.
func (b *Board) write(sink *Sink, now Status) (err error) {
	if *sink == nil {
		if *sink, err = b.opt.Open(); *sink == nil || err != nil {
			return err
		}
	}
	if err = (*sink).Write(now); err != nil {
		(*sink).End()
		*sink = nil
	}
	return err
}

func (b *Board) warn(err error) {
	if b.opt.Warn != nil {
		b.opt.Warn(err)
	}
}

// Snapshot is the status as it is now. It must not be called under the loop's
// lock: what is known of builds is asked of somebody who may have to wait.
func (b *Board) Snapshot() Status {
	b.mu.Lock()
	b.dirty = false
	s, last := b.now, b.last
	s.Events = append([]Event{}, s.Events...)
	s.Sessions = make([]Session, 0, len(b.order))
	for _, x := range b.order {
		s.Sessions = append(s.Sessions, x.Session)
	}
	s.SessionsLeftOut = b.dropped
	s.Processes = []Process{}
	for _, gen := range slices.Sorted(maps.Keys(b.alive)) {
		s.Processes = append(s.Processes, *b.alive[gen])
	}
	b.mu.Unlock()

	s.Updated, s.Goroutines = b.opt.Clock().UTC(), runtime.NumGoroutine()
	build := s.Agent.Name + " " + s.Agent.Version
	if b.opt.Path != nil {
		s.Agent.Path = b.opt.Path()
	}
	if b.opt.Recording != nil {
		s.Recording = b.opt.Recording()
	}
	switch {
	case b.opt.Ignores != nil && b.opt.Ignores(build):
		s.Cancel.State = Ignored
	case last:
		s.Cancel.State = Honoured
	}
	if b.opt.Tokens != nil {
		s.Tokens = b.opt.Tokens(build)
	}
	return s
}

// Close ends the goroutine and has the file removed. It waits for a write that has
// begun, but not for a disk that hangs.
func (b *Board) Close() {
	b.once.Do(func() { close(b.ending) })
	t := time.NewTimer(every)
	defer t.Stop()
	select {
	case <-b.done:
	case <-t.C:
	}
}
