//go:build unix

package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-shim/internal/textfile"
	"acp-shim/proxy"
)

// What is learned, and what a session's lock should be, neither.
func TestStateThatIsFIFOs(t *testing.T) {
	d, _ := Open(t.TempDir())
	if err := syscall.Mkfifo(filepath.Join(d.Path(), "cancel.json"), 0o600); err != nil {
		t.Skip(err)
	}
	s, err := d.Sessions("agy", "/h", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(proxy.Record{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	place := d.Place("agy", "/h")
	if err := syscall.Mkfifo(place.lockPath("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		d.Facts("cancel")
		place.Entries()
		done <- d.Learn("cancel", "agy 1", 1)
	}()
	select {
	case err := <-done:
		if got := string(d.Facts("cancel")["agy 1"]); err != nil || got != "1" {
			t.Errorf("learned %q, %v", got, err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("somebody waits for a writer")
	}
}

// A file that is too large to be one of these is not read, and not replaced.
func TestStateWithoutEnd(t *testing.T) {
	d, _ := Open(t.TempDir())
	path := filepath.Join(d.Path(), "cancel.json")
	if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Truncate(path, textfile.Max+1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Learn("cancel", "agy 1", 1); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("learning from it: %v", err)
	}
}

// FIFOs where files should be: nobody waits for a writer.
func TestRunsThatAreFIFOs(t *testing.T) {
	d, _ := Open(t.TempDir())
	running := filepath.Join(d.Path(), "running")
	if err := os.Mkdir(running, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"7.json", "8.lock"} {
		if err := syscall.Mkfifo(filepath.Join(running, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(running, "7.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if runs, err := d.Runs(); err != nil || len(runs) != 1 || runs[0].Text != nil {
		t.Errorf("%v %+v", err, runs)
	}
}
