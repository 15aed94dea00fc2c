//go:build unix

package rewrite

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A pipe in the file's place is read by nobody: the watcher could not be closed
// before somebody writes to it, and the program would not end.
func TestWatchAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ends := func(w *Watcher) {
		t.Helper()
		closed := make(chan struct{})
		go func() { w.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Fatal("the watcher does not end")
		}
	}
	parse := func(b []byte) (string, error) { return string(b), nil }
	apply := func(v string) { t.Errorf("it says %q", v) }

	// From the start, as a shell's <(command) is: what was read of it holds.
	ends(newWatcher(pipe, []byte("read"), parse, apply, func(err error) { t.Error(err) }, (*fsnotify.Watcher).Add, time.Millisecond))

	path := filepath.Join(dir, "file")
	write(t, path, "read")
	told := make(chan error, 1)
	w := newWatcher(path, []byte("read"), parse, apply, func(err error) { told <- err }, (*fsnotify.Watcher).Add, time.Millisecond)
	if err := os.Rename(pipe, path); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, told); !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	ends(w)
}
