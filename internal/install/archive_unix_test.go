//go:build unix

package install

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipeForAnArchive is refused: nobody may ever write into it.
func TestPipeForAnArchive(t *testing.T) {
	w := newWorld(t)
	pipe := filepath.Join(w.dir, stamped)
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.install(Request{File: pipe})
	fails(t, err, "is no file")
	w.nothing()
}
