//go:build linux

package stdio

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary play a program that takes its streams.
func TestMain(m *testing.M) {
	if os.Getenv("STDIO_CHILD") == "" {
		os.Exit(m.Run())
	}
	s, err := Take()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("stray") // must not get onto the protocol's stream
	b, _ := io.ReadAll(s.In)
	fmt.Fprintf(s.Out, "polled=%v %s", s.OutFD >= 0, b)
	s.Close()
	os.Exit(0)
}

func child(t *testing.T) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STDIO_CHILD=1")
	return cmd
}

func TestPipesAreOpenedAnew(t *testing.T) {
	r, w, _ := os.Pipe()
	cmd := child(t)
	cmd.Stdin = strings.NewReader("hello")
	cmd.Stdout = w
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	raw, _ := w.SyscallConn()
	raw.Control(func(fd uintptr) {
		flags, _ := unix.FcntlInt(fd, unix.F_GETFL, 0)
		t.Logf("flags %x", flags)
	})
	w.Close()
	got, _ := io.ReadAll(r)
	if string(got) != "polled=true hello" {
		t.Errorf("stdout %q", got)
	}
	if !strings.Contains(stderr.String(), "stray") {
		t.Errorf("stderr %q", stderr.String())
	}
}

// TestSharedSocketStaysBlocking has stdout and stderr as one socket, as a client
// that merges them gives it.
func TestSharedSocketStaysBlocking(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	cmd := child(t)
	cmd.Stdin = strings.NewReader("hello")
	cmd.Stdout, cmd.Stderr = theirs, theirs
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(conn)
	if string(got) != "stray\npolled=false hello" {
		t.Errorf("got %q", got)
	}
}

func TestFilesAndMissingStreams(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t)
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(out.Name())
	if string(b) != "polled=false " {
		t.Errorf("got %q", b)
	}
}
