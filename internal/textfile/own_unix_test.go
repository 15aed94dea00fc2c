//go:build unix

package textfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stranger is a user that nothing here belongs to.
const stranger = 12345

// asRoot skips what needs files of another user.
func asRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
}

func TestPrivateDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	if err := PrivateDir(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made as %v, %v", info.Mode(), err)
	}
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o775: true, 0o777: false, 0o777 | os.ModeSticky: false, 0o703: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := PrivateDir(path); ok != (err == nil) || !ok && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if err := PrivateDir(filepath.Join(path, "file", "c")); err != nil {
		t.Error(err)
	}
	asRoot(t)
	os.Chmod(path, 0o700)
	if err := os.Chown(path, stranger, -1); err != nil {
		t.Fatal(err)
	}
	if err := PrivateDir(path); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("another user's: %v", err)
	}
	private, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(private, link); err != nil {
		t.Fatal(err)
	}
	if err := PrivateDir(link); err != nil {
		t.Errorf("a link of the user's: %v", err)
	}
	if err := os.Lchown(link, stranger, -1); err != nil {
		t.Fatal(err)
	}
	if err := PrivateDir(link); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("another user's link to what is the user's: %v", err)
	}
}

func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write := func(path string) error {
		f, err := OpenOwn(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("x")
		return err
	}
	if err := os.WriteFile(target, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := write(link); err != nil {
		t.Errorf("a link of the user's own: %v", err)
	}
	if info, err := os.Stat(target); err != nil || info.Size() != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := write("/dev/null"); err != nil {
		t.Errorf("a device: %v", err)
	}
	fifo, toFIFO := filepath.Join(dir, "fifo"), filepath.Join(dir, "to-fifo")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o666), os.Symlink(fifo, toFIFO)); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read := func() string {
		b := make([]byte, 10)
		reader.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, _ := reader.Read(b) // nothing is an error
		return string(b[:n])
	}
	if err := write(fifo); err != nil || read() != "x" {
		t.Errorf("a pipe of the user's own: %v", err)
	}
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer end.Close()
	inherited := fmt.Sprintf("/dev/fd/%d", end.Fd())
	if err := write(inherited); err != nil {
		t.Errorf("a pipe that the shell gives: %v", err)
	}
	asRoot(t)
	if err := os.Lchown(link, stranger, -1); err != nil {
		t.Fatal(err)
	}
	if err := write(link); err == nil || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("another user's link: %v", err)
	}
	if err := os.Chown(target, stranger, -1); err != nil {
		t.Fatal(err)
	}
	if err := write(target); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("another user's file: %v", err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "x" {
		t.Errorf("it was written to: %q, %v", b, err)
	}
	if err := errors.Join(os.Chown(fifo, stranger, -1), end.Chown(stranger, -1)); err != nil {
		t.Fatal(err)
	}
	if err := write(fifo); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("another user's pipe: %v", err)
	}
	if got := read(); got != "" {
		t.Errorf("another user reads %q", got)
	}
	if err := write(toFIFO); err != nil || read() != "x" {
		t.Errorf("a link of the user's own to one: %v", err)
	}
	if err := write(inherited); err != nil {
		t.Errorf("a pipe that another user has given: %v", err)
	}
}
