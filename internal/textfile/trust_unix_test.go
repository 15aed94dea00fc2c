//go:build unix

package textfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o664: true, 0o646: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		b, err := ReadOwn(path)
		if ok && (err != nil || string(b) != "x") || !ok && (err == nil || !strings.Contains(err.Error(), "chmod o-w")) {
			t.Errorf("%o: %q, %v", mode, b, err)
		}
		if _, err := Read(path); err != nil {
			t.Errorf("%o: Read trusts everything: %v", mode, err)
		}
	}
	fifo := path + ".fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOwn(fifo); err != nil {
		t.Errorf("a pipe of the user's own: %v", err)
	}
	asRoot(t)
	for _, path := range []string{path, fifo} {
		os.Chmod(path, 0o600)
		if err := os.Chown(path, stranger, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadOwn(path); err == nil || !strings.Contains(err.Error(), "uid 12345") {
			t.Errorf("another user's %s: %v", filepath.Base(path), err)
		}
	}
}
