//go:build unix

package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestPipesCarryBytesAndEndWithStdin(t *testing.T) {
	p := start(t, "echo", nil)
	want := strings.Repeat("0123456789abcdef", 64<<10)
	go func() {
		io.WriteString(p.Stdin, want)
		p.CloseStdin()
	}()
	got, err := io.ReadAll(p.Stdout)
	if err != nil || string(got) != want {
		t.Fatalf("echo gave %d of %d bytes, error %v", len(got), len(want), err)
	}
	await(t, p.Done(), "exit")
	if e := p.Exit(); e.Code != 0 || e.Expected || e.Words != "exited with code 0" {
		t.Errorf("exit: %+v", e)
	}
}

func TestOwnEndsDoNotBlockChildsDo(t *testing.T) {
	p := start(t, "flags", nil)
	out, _ := io.ReadAll(p.Stdout)
	if want := "0 false true\n1 false true\n2 false true\n"; string(out) != want {
		t.Errorf("child's descriptors (number, non-blocking, readable):\n%swant\n%s", out, want)
	}
	for name, f := range map[string]*os.File{"stdin": p.Stdin, "stdout": p.Stdout} {
		c, err := f.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		c.Control(func(fd uintptr) {
			flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
			if flags&syscall.O_NONBLOCK == 0 {
				t.Errorf("%s blocks", name)
			}
		})
		// A deadline works only with the poller.
		if err := f.SetDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Errorf("%s is not registered with the poller: %v", name, err)
		}
	}
}

func TestChildIsMarkedAndCounted(t *testing.T) {
	t.Setenv(EnvRun, "outer-run")
	t.Setenv(EnvProc, "outer-run.7")
	t.Setenv(EnvDepth, "2")
	p := start(t, "env", func(s *Spec) { s.RunID, s.Gen, s.PrivateTemp = "inner-run", 3, true })
	out, _ := io.ReadAll(p.Stdout)
	for _, want := range []string{
		"ACP_SHIM_RUN=outer-run:inner-run",
		"ACP_SHIM_PROC=outer-run.7:inner-run.3",
		"ACP_SHIM_DEPTH=3",
		"TMPDIR=" + p.Temp(),
	} {
		if !strings.Contains("\n"+string(out), "\n"+want+"\n") {
			t.Errorf("child's environment lacks %s", want)
		}
	}
}

func TestPrivateTempIsRemovedAfterTheEnd(t *testing.T) {
	p := start(t, "sleep", func(s *Spec) { s.PrivateTemp = true })
	readyPids(t, bufio.NewReader(p.Stdout), 1)
	if err := os.WriteFile(filepath.Join(p.Temp(), "_MEI1"), []byte("unpacked"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Release()
	select {
	case <-p.Gone():
		t.Fatal("gone while the process runs")
	case <-time.After(20 * time.Millisecond): // that nothing happens has no event
	}
	if _, err := os.Stat(p.Temp()); err != nil {
		t.Fatalf("removed while the process runs: %v", err)
	}
	p.Kill()
	await(t, p.Gone(), "removal")
	if _, err := os.Stat(p.Temp()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", p.Temp(), err)
	}
}

func TestTerminate(t *testing.T) {
	p := start(t, "sleep", nil)
	r := bufio.NewReader(p.Stdout)
	readyPids(t, r, 1)
	p.Terminate()
	await(t, p.Done(), "exit")
	e := p.Exit()
	if e.Signal != "SIGTERM" || !e.Expected || e.Words != "was killed by SIGTERM, sent by the shim" {
		t.Errorf("exit: %+v", e)
	}
}

func TestStubbornIsKilled(t *testing.T) {
	p := start(t, "stubborn", nil)
	readyPids(t, bufio.NewReader(p.Stdout), 1)
	p.Terminate()
	p.CloseStdin()
	select {
	case <-p.Done():
		t.Fatalf("ended by SIGTERM: %v", p.Exit())
	case <-time.After(50 * time.Millisecond): // it must still be there; no event tells that
	}
	p.Kill()
	await(t, p.Done(), "exit")
	if e := p.Exit(); e.Signal != "SIGKILL" || !e.Expected || e.Words != "was killed by SIGKILL, sent by the shim" {
		t.Errorf("exit: %+v", e)
	}
}

// Every call, from several goroutines, in any order, again and again, also long
// after the end.
func TestCallsInAnyOrder(t *testing.T) {
	p := start(t, "sleep", func(s *Spec) { s.PrivateTemp = true })
	calls := []func(){p.Terminate, p.Kill, p.CloseStdin, p.Release, p.Expect,
		func() { p.Exit() }, func() { p.Tail() }, func() { p.Temp() }}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 2 * len(calls) {
				calls[(i*3+j)%len(calls)]()
			}
		})
	}
	all.Wait()
	await(t, p.Gone(), "end")
	for _, call := range calls {
		call()
	}
	if e := p.Exit(); !e.Expected {
		t.Errorf("exit: %+v", e)
	}
}

func TestExitInWords(t *testing.T) {
	for _, c := range []struct {
		role, arg, signal, words string
		code                     int
	}{
		{"exit", "0", "", "exited with code 0", 0},
		{"exit", "3", "", "exited with code 3", 3},
		{"exit", "127", "", "exited with code 127 (a shell's word for: command not found)", 127},
		{"exit", "137", "", "exited with code 137 (a shell's word for: its command was killed by signal 9)", 137},
		{"raise", fmt.Sprint(int(syscall.SIGKILL)), "SIGKILL", "was killed by SIGKILL, not by the shim: by the system (out of memory?) or by somebody else", -1},
		{"raise", fmt.Sprint(int(syscall.SIGILL)), "SIGILL", "was killed by SIGILL: an instruction that this processor does not have (AVX?)", -1},
		{"raise", fmt.Sprint(int(syscall.SIGTERM)), "SIGTERM", "was killed by SIGTERM, not by the shim: by somebody else", -1},
		{"raise", fmt.Sprint(int(syscall.SIGXCPU)), "SIGXCPU", "was killed by SIGXCPU: over a resource limit (see ulimit -a)", -1},
		{"raise", fmt.Sprint(int(syscall.SIGALRM)), "SIGALRM", "was killed by SIGALRM", -1},
	} {
		t.Run(c.role+" "+c.arg, func(t *testing.T) {
			path, args, env := "/bin/sh", []string{"-c", "kill -" + c.arg + " $$"}, []string(nil)
			if c.role == "exit" {
				args = []string{"-c", "exit " + c.arg}
			}
			p, err := Start(Spec{Path: path, Args: args, ExtraEnv: env})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			await(t, p.Done(), "exit")
			e := p.Exit()
			if e.Code != c.code || e.Signal != c.signal || e.Words != c.words || e.Expected {
				t.Errorf("exit: %+v, want code %d signal %q words %q", e, c.code, c.signal, c.words)
			}
		})
	}
}

func TestManyShortLivesLeaveNothingOpen(t *testing.T) {
	before := openFiles(t)
	for range 20 {
		p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "exit 0"}})
		if err != nil {
			t.Fatal(err)
		}
		await(t, p.Done(), "exit")
		p.Release()
		await(t, p.Gone(), "end")
		await(t, p.StderrDone(), "stderr's end")
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	managedMu.Lock()
	defer managedMu.Unlock()
	if len(managed) != 0 {
		t.Errorf("still managed: %v", managed)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
