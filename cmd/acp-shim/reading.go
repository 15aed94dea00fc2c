package main

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// watchReading shows how far a long reading is, to somebody who waits at a terminal.
// Where lines appear as they are read, those show it.
func watchReading(path string, progress func() (done, size int64), silent bool) (stop func()) {
	if !showsBars(os.Stderr) || !silent && term.IsTerminal(1) {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-over:
			return
		case <-time.After(longTime):
		}
		_, size := progress()
		bar := newBar(os.Stderr, max(size, 1), shown(path))
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-over:
				tick.Stop()
				bar.Finish()
				return
			case <-tick.C:
				done, _ := progress()
				bar.Set64(min(done, size))
			}
		}
	}()
	return func() { close(over); <-ended }
}

// watchedFile is a file of which somebody who waits sees how far it is read.
type watchedFile struct {
	*os.File
	read atomic.Int64
	stop func()
}

func openWatched(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	w := &watchedFile{File: f}
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	w.stop = watchReading(path, func() (int64, int64) { return w.read.Load(), size }, true)
	return w, nil
}

func (w *watchedFile) Read(b []byte) (int, error) {
	n, err := w.File.Read(b)
	w.read.Add(int64(n))
	return n, err
}

func (w *watchedFile) Close() error {
	w.stop()
	return w.File.Close()
}
