//go:build unix

package textfile

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestReadAPipe waits for what somebody writes, and for nobody who does not.
func TestReadAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(path); err != nil || len(b) != 0 {
		t.Errorf("a pipe without a writer: %q, %v", b, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		time.Sleep(50 * time.Millisecond)
		w.WriteString("late")
		w.Close()
	}()
	// As a shell's <(command) names it.
	b, err := Read("/dev/fd/" + fd(r))
	if err != nil || string(b) != "late" {
		t.Errorf("%q, %v", b, err)
	}
}

// fd is a file's descriptor. Unlike its Fd, it leaves the pipe as it is.
func fd(f *os.File) (n string) {
	raw, err := f.SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) { n = strconv.FormatUint(uint64(fd), 10) })
	}
	return n
}
