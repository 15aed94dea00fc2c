package show

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"acp-shim/record"
)

// Follow goes through the lines of the capture in path and, at its end, waits for
// more until ctx is done. It goes on to the next part of the run when there is
// one, and to a new capture that takes the name of this one. idle is called, in
// the same goroutine, when all that is there was read, and again, with long, when
// nothing has come for a second.
func Follow(ctx context.Context, path string, idle func(long bool)) iter.Seq2[record.Entry, error] {
	return func(yield func(record.Entry, error) bool) {
		t := &tail{ctx: ctx, path: path, idle: idle}
		// Without notice, because a system has no more to give, it looks by the clock.
		if w, err := fsnotify.NewWatcher(); err == nil {
			defer w.Close()
			if w.Add(filepath.Dir(path)) == nil {
				t.notice = w.Events
			}
		}
		for t.path != "" && ctx.Err() == nil {
			f, err := os.Open(t.path)
			if err != nil {
				yield(record.Entry{}, fmt.Errorf("opening the capture: %w", err))
				return
			}
			t.file, t.next, t.look = f, "", true
			for e, err := range record.Read(t) {
				if e.Header != nil {
					t.header = e.Header
				}
				if !yield(e, err) {
					f.Close()
					return
				}
			}
			f.Close()
			t.path = t.next
		}
	}
}

// pollEvery is how often a tail looks for itself: not every file system gives
// notice.
const pollEvery = time.Second

// tail reads a file that grows, and ends when the capture goes on elsewhere.
type tail struct {
	ctx    context.Context
	path   string
	idle   func(long bool)
	notice <-chan fsnotify.Event

	file   *os.File
	header *record.Header
	next   string // where it goes on, once that is known
	look   bool   // something may have changed beside the file
}

func (t *tail) Read(p []byte) (int, error) {
	for {
		n, err := t.file.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		if t.next != "" {
			return 0, io.EOF
		}
		if t.look {
			t.look = false
			if t.next = t.successor(); t.next != "" {
				continue // it is whole before the next one begins
			}
		}
		t.idle(false)
		if !t.wait() {
			return 0, io.EOF
		}
	}
}

// wait returns when there may be more, and false when nobody wants it.
func (t *tail) wait() bool {
	clock := time.NewTimer(pollEvery)
	defer clock.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return false
		case e, ok := <-t.notice:
			if !ok {
				t.notice = nil
				continue
			}
			t.look = t.look || !e.Has(fsnotify.Write)
			if e.Has(fsnotify.Write) && filepath.Base(e.Name) != filepath.Base(t.path) && !t.look {
				continue // another capture grows beside this one
			}
			return true
		case <-clock.C:
			t.look = true
			t.idle(true)
			return true
		}
	}
}

// successor finds where the capture goes on: in the part that follows, or in a
// new file of the same name.
func (t *tail) successor() string {
	if t.header != nil && t.header.Run != "" {
		dir := filepath.Dir(t.path)
		files, _ := os.ReadDir(dir)
		mark := fmt.Sprintf(".part%03d.", t.header.Part+1)
		for _, f := range files {
			if !strings.Contains(f.Name(), mark) {
				continue
			}
			name := filepath.Join(dir, f.Name())
			if c, err := record.Open(name); err == nil {
				c.Close()
				if c.Header != nil && c.Header.Continues(t.header) {
					return name
				}
			}
		}
	}
	there, err := os.Stat(t.path)
	here, e := t.file.Stat()
	if err == nil && e == nil && !os.SameFile(there, here) {
		return t.path
	}
	return ""
}
