package rewrite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"acp-shim/internal/textfile"

	"github.com/fsnotify/fsnotify"
)

const (
	settleTime = 100 * time.Millisecond // an editor's save is several events
	settleMost = time.Second
	pollEvery  = 2 * time.Second
)

// Watcher follows one file.
type Watcher struct {
	path    string
	differs func() bool // it is not what was last read
	check   func()      // reads it and says so
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	add     func(w *fsnotify.Watcher, dir string) error
	every   time.Duration
	stands  chan struct{} // closed when slow is known
	slow    error
}

// Watch follows a file: when it says something else than before, parse reads it
// and apply gets the result. A file that is gone, or that parse refuses, goes to
// report and changes nothing else; what was last applied stays. Both are called
// from the watcher's goroutine. was is what the caller has read of the file
// before, and acted on; nil is what it says now.
//
// The file's directory is watched, since editors replace files, and the one that
// a link leads to; while there is none yet, the one that it would be made in. Where the system has no watches left the file is looked at
// every two seconds.
func Watch[T any](path string, was []byte, parse func([]byte) (T, error), apply func(T), report func(error)) *Watcher {
	return newWatcher(path, was, parse, apply, report, (*fsnotify.Watcher).Add, pollEvery)
}

func newWatcher[T any](path string, was []byte, parse func([]byte) (T, error), apply func(T), report func(error),
	add func(*fsnotify.Watcher, string) error, every time.Duration) *Watcher {
	w := &Watcher{path: path, stop: make(chan struct{}), done: make(chan struct{}), stands: make(chan struct{}), add: add, every: every}
	if abs, err := filepath.Abs(path); err == nil {
		w.path = abs
	}
	if was == nil {
		was, _ = readAgain(w.path) // not there: nothing was read of it
	}
	known, gone := was != nil, false
	w.differs = func() bool {
		text, err := readAgain(w.path)
		if err != nil {
			return known && !gone
		}
		return gone || !known || !bytes.Equal(text, was)
	}
	w.check = func() {
		text, err := readAgain(w.path)
		if err != nil {
			if known && !gone {
				gone = true
				report(err)
			}
			return
		}
		gone = false
		if known && bytes.Equal(text, was) {
			return
		}
		was, known = text, true
		v, err := parse(text)
		if err != nil {
			report(err)
			return
		}
		apply(v)
	}
	if info, err := os.Stat(w.path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		close(w.stands)
		close(w.done) // a shell's <(command): there is nothing to follow
		return w
	}
	go w.run()
	return w
}

// readAgain reads what is a file: a pipe in its place would hold the watcher, and
// with it the end of the program, until somebody writes.
func readAgain(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, and is not read again", path)
	}
	return textfile.ReadOwn(path)
}

// Close ends the watching and waits for what it is doing.
func (w *Watcher) Close() {
	w.once.Do(func() { close(w.stop) })
	<-w.done
}

// Slow waits until the watch stands, and tells why the file is only looked at now and
// then, nil where it is followed.
func (w *Watcher) Slow() error {
	<-w.stands
	return w.slow
}

// dirs are the directories in which the file may be replaced.
func (w *Watcher) dirs() []string {
	list := []string{nearestDir(filepath.Dir(w.path))}
	if real, err := filepath.EvalSymlinks(w.path); err == nil && filepath.Dir(real) != list[0] {
		list = append(list, filepath.Dir(real))
	}
	return list
}

// nearestDir is the directory, or the one above it that is there.
func nearestDir(dir string) string {
	for {
		above := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || above == dir {
			return dir
		}
		dir = above
	}
}

func (w *Watcher) run() {
	defer close(w.done)
	var events <-chan fsnotify.Event
	var errors <-chan error
	notify, err := fsnotify.NewWatcher()
	if err == nil {
		defer notify.Close()
		for _, dir := range w.dirs() {
			if err = w.add(notify, dir); err != nil {
				break
			}
		}
	}
	w.slow = err
	close(w.stands)
	var poll <-chan time.Time
	if err == nil {
		events, errors = notify.Events, notify.Errors
	} else {
		t := time.NewTicker(w.every)
		defer t.Stop()
		poll = t.C
	}
	// A file that is being written is seen in pieces: whatever is noticed, it is
	// read when nothing more has been for a moment.
	var settle *time.Timer
	var settled <-chan time.Time
	var first time.Time
	noticed := func() {
		if settled == nil {
			first = time.Now()
			settle = time.NewTimer(settleTime)
			settled = settle.C
		} else if time.Since(first) < settleMost {
			settle.Reset(settleTime)
		}
	}
	if w.differs() {
		noticed() // it has changed before the watch stood
	}
	for {
		select {
		case <-w.stop:
			if settle != nil {
				settle.Stop()
			}
			return
		case <-poll:
			if settled == nil && w.differs() {
				noticed()
			}
		case _, ok := <-events:
			if !ok {
				return
			}
			noticed()
		case <-errors:
			noticed() // events were lost
		case <-settled:
			settled = nil
			w.check()
			if events == nil {
				continue
			}
			dirs := w.dirs()
			for _, dir := range dirs {
				w.add(notify, dir) // a link may lead elsewhere now; again is harmless
			}
			for _, dir := range notify.WatchList() {
				if !slices.Contains(dirs, dir) {
					_ = notify.Remove(dir) // it may be gone
				}
			}
			if w.differs() {
				noticed() // it was made before its directory was watched
			}
		}
	}
}
