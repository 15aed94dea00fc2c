package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// awaitDeath waits until a process that need not be our child is dead, and
// fails after limit.
func awaitDeath(t *testing.T, pid int, limit time.Duration) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(limit)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(0, time.Until(deadline).Milliseconds())))
		if n > 0 {
			return
		}
		if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			p, _ := procfs{"/proc"}.stat(pid)
			t.Errorf("process %d is alive after %v: %+v", pid, limit, p)
			syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

func alive(pid int) bool {
	p, ok := procfs{"/proc"}.stat(pid)
	return ok && !p.zombie
}

func TestKillTakesTheTree(t *testing.T) {
	for _, how := range []string{"stay", "leave"} {
		t.Run(how, func(t *testing.T) {
			p := start(t, "family", func(s *Spec) { s.Args = []string{how} })
			pids := readyPids(t, bufio.NewReader(p.Stdout), familySize)
			if how == "leave" {
				await(t, p.Done(), "exit")
			}
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("%d is dead before the kill", pid)
				}
			}
			began := time.Now()
			p.Kill()
			if took := time.Since(began); took > killBound+100*time.Millisecond {
				t.Errorf("kill took %v", took)
			}
			for _, pid := range pids {
				awaitDeath(t, pid, time.Second)
			}
			await(t, p.Done(), "exit")
			if e := p.Exit(); e.Expected != (how == "stay") {
				t.Errorf("exit: %+v", e)
			}
		})
	}
}

func TestKillSparesOtherGenerations(t *testing.T) {
	run := NewRunID()
	begin := func(gen int) (*Process, []int) {
		p := start(t, "family", func(s *Spec) { s.RunID, s.Gen, s.Args = run, gen, []string{"stay"} })
		return p, readyPids(t, bufio.NewReader(p.Stdout), familySize)
	}
	first, firstPids := begin(1)
	other, otherPids := begin(11) // "run.1" begins its mark
	g, err := StartGuard(run)
	if err != nil {
		t.Fatal(err)
	}
	if s := spared(first.Pid); s[first.Pid] || !s[other.Pid] || !s[os.Getpid()] || !s[guardOf(t, os.Getpid())] {
		t.Errorf("spared by the kill of %d: %v", first.Pid, s)
	}
	first.Kill()
	for _, pid := range firstPids {
		awaitDeath(t, pid, time.Second)
	}
	for _, pid := range append(otherPids, other.Pid) {
		if !alive(pid) {
			t.Errorf("%d of another generation is dead", pid)
		}
	}
	select {
	case <-g.Done():
		t.Error("the guard is dead")
	default:
	}
	g.Close()
	await(t, g.Done(), "the guard's end")
	for _, pid := range otherPids {
		awaitDeath(t, pid, time.Second)
	}
}

// A shell with job control gives each job a group of its own in the session.
func TestTerminateReachesAllGroupsOfTheSession(t *testing.T) {
	p := start(t, "sleep", nil)
	readyPids(t, bufio.NewReader(p.Stdout), 1)
	sh := start(t, "jobs", nil)
	pid := readyPids(t, bufio.NewReader(sh.Stdout), 1)[0]
	m, _ := procfs{"/proc"}.stat(pid)
	if m.pgrp == sh.Pid || m.sid != sh.Pid {
		t.Fatalf("the job is not as the test needs it: %+v", m)
	}
	sh.Terminate()
	awaitDeath(t, pid, time.Second)
	if !alive(p.Pid) {
		t.Error("a process of another session is dead")
	}
}

// Without /proc the process group is all there is.
func TestKillWithoutProc(t *testing.T) {
	p := start(t, "family", func(s *Spec) {
		s.Args = []string{"stay"}
		s.table = procfs{t.TempDir()}
	})
	pids := readyPids(t, bufio.NewReader(p.Stdout), familySize)
	inGroup := 0
	for _, pid := range pids {
		if m, _ := (procfs{"/proc"}).stat(pid); m.pgrp == p.Pid {
			inGroup++
			defer awaitDeath(t, pid, time.Second)
		} else {
			defer syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if inGroup != 1 {
		t.Fatalf("%d processes in the group, want 1", inGroup)
	}
	p.Kill()
	await(t, p.Done(), "exit")
}

func TestNothingLeaksIntoTheChild(t *testing.T) {
	run := NewRunID()
	g, err := StartGuard(run)
	if err != nil {
		t.Fatal(err)
	}
	first := start(t, "sleep", func(s *Spec) { s.RunID = run })
	readyPids(t, bufio.NewReader(first.Stdout), 1)
	p := start(t, "fds", func(s *Spec) { s.RunID = run })
	out, _ := io.ReadAll(p.Stdout)
	for name, f := range map[string]*os.File{"the guard's pipe": g.pipe, "another agent's stdin": first.Stdin,
		"another agent's stdout": first.Stdout, "its own stdin's other end": p.Stdin} {
		var pipe string
		c, _ := f.SyscallConn()
		c.Control(func(fd uintptr) { pipe, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) })
		own := 0
		if f == p.Stdin {
			own = 1 // as descriptor 0
		}
		if n := strings.Count(string(out), pipe+"\n"); pipe == "" || n != own {
			t.Errorf("%s (%s) is open in the child %d times:\n%s", name, pipe, n, out)
		}
	}
	g.Close()
	await(t, g.Done(), "the guard's end")
	await(t, first.Done(), "the agent's end by the guard")
}

func TestPipesAreLarge(t *testing.T) {
	p := start(t, "sleep", nil)
	for name, f := range map[string]*os.File{"stdin": p.Stdin, "stdout": p.Stdout} {
		c, _ := f.SyscallConn()
		c.Control(func(fd uintptr) {
			if n, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err != nil || n < 256<<10 {
				t.Errorf("%s holds %d bytes, error %v", name, n, err)
			}
		})
	}
}

// What has cleared its environment is known by its session and its parents; if
// it has left both, it is out of reach (KillOrphans is for that).
func TestKillWithoutMarks(t *testing.T) {
	p := start(t, "family", func(s *Spec) { s.RunID, s.Args = "", []string{"stay"} })
	pids := readyPids(t, bufio.NewReader(p.Stdout), familySize)
	var within, out []int
	for _, pid := range pids {
		if m, _ := (procfs{"/proc"}).stat(pid); m.ppid == p.Pid || m.sid == p.Pid {
			within = append(within, pid)
		} else {
			out = append(out, pid)
		}
	}
	if len(within) != 2 || len(out) != 1 {
		t.Fatalf("within reach %v, out of it %v", within, out)
	}
	// The one between it and the agent has gone: by that one it could be found.
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		m, _ := (procfs{"/proc"}).stat(out[0])
		if parent, _ := (procfs{"/proc"}).stat(m.ppid); parent.ppid != p.Pid {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("its parent %d is still there", m.ppid)
		}
	}
	p.Kill()
	for _, pid := range within {
		awaitDeath(t, pid, time.Second)
	}
	if !alive(out[0]) {
		t.Error("a process that nothing ties to the agent was killed")
	}
	syscall.Kill(out[0], syscall.SIGKILL)
	awaitDeath(t, out[0], time.Second)
}
