package logs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"acp-shim/internal/textfile"
)

const (
	// recordMax is the longest record in bytes.
	recordMax = 4 << 10
	// queueMax bounds what waits; what comes beyond it is counted and lost.
	queueMax = 1 << 20
	// keepDays is how long a day's file is kept.
	keepDays = 14
	// closeWait is how long an end waits for a slow sink.
	closeWait = 200 * time.Millisecond
)

// sink queues records for a writer that may be slow. Its goroutine is started
// by the first record and ends with close.
type sink struct {
	w io.Writer
	// failed is told once that w takes nothing; may be nil.
	failed  func(error)
	mu      sync.Mutex
	cond    sync.Cond
	queue   []byte
	lost    int
	started bool
	closed  bool
	done    chan struct{}
}

func newSink(w io.Writer) *sink {
	s := &sink{w: w, done: make(chan struct{})}
	s.cond.L = &s.mu
	return s
}

// Write takes one record. It never waits and never fails.
func (s *sink) Write(record []byte) (int, error) {
	n := len(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return n, nil
	}
	if len(s.queue)+min(n, recordMax) > queueMax {
		s.lost++
		return n, nil
	}
	if n > recordMax {
		s.queue = append(s.queue, record[:recordMax-5]...)
		s.queue = append(s.queue, " ...\n"...)
	} else {
		s.queue = append(s.queue, record...)
	}
	if !s.started {
		s.started = true
		go s.run()
	}
	s.cond.Signal()
	return n, nil
}

func (s *sink) run() {
	defer close(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 {
			if s.closed {
				return
			}
			s.cond.Wait()
		}
		b, lost := s.queue, s.lost
		s.queue, s.lost = nil, 0
		s.mu.Unlock()
		if _, err := s.w.Write(b); err != nil && s.failed != nil {
			s.failed(err)
			s.failed = nil
		}
		if lost > 0 {
			fmt.Fprintf(s.w, "%d records were lost here, since the log could not be written fast enough\n", lost)
		}
		s.mu.Lock()
	}
}

func (s *sink) close() {
	s.mu.Lock()
	s.closed = true
	started := s.started
	s.cond.Signal()
	s.mu.Unlock()
	if !started {
		return
	}
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
	}
}

// daily is a file that starts anew every day: yesterday's gets its date behind
// its name. It is opened for the first record, so that a run with nothing to
// say leaves nothing behind.
type daily struct {
	path string
	file *os.File
	day  string
	now  func() time.Time // tests
}

const dayFormat = "2006-01-02"

func (d *daily) Write(b []byte) (int, error) {
	now := time.Now
	if d.now != nil {
		now = d.now
	}
	day := now().Format(dayFormat)
	if d.file == nil || d.day != day {
		if err := d.open(day, now()); err != nil {
			return 0, err
		}
	}
	return d.file.Write(b)
}

func (d *daily) open(day string, now time.Time) error {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	// Whichever of several shims comes first on a new day moves the file; the
	// others find a new one.
	if info, err := os.Lstat(d.path); err == nil && info.Mode().IsRegular() {
		if was := info.ModTime().Format(dayFormat); was < day {
			os.Rename(d.path, d.path+"."+was)
		}
	}
	f, err := textfile.OpenOwn(d.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	d.file, d.day = f, day
	d.prune(now)
	return nil
}

// prune removes the files of days that are long past.
func (d *daily) prune(now time.Time) {
	old, _ := filepath.Glob(d.path + ".????-??-??")
	for _, path := range old {
		day, err := time.Parse(dayFormat, strings.TrimPrefix(path, d.path+"."))
		if err == nil && now.Sub(day) > (keepDays+1)*24*time.Hour {
			os.Remove(path)
		}
	}
}
