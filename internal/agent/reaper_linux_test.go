package agent

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// eventually is for what the kernel tells nobody about: the table is read again
// until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 10 s for %s", what)
		}
	}
}

func TestOrphansAreAdoptedAndReaped(t *testing.T) {
	stop, err := BecomeSubreaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p := start(t, "family", func(s *Spec) { s.Args = []string{"leave"} })
	pids := readyPids(t, bufio.NewReader(p.Stdout), familySize)
	await(t, p.Done(), "exit")
	for _, pid := range pids {
		eventually(t, "adoption", func() bool { m, _ := procfs{"/proc"}.stat(pid); return m.ppid == os.Getpid() })
	}
	p.Kill()
	for _, pid := range pids {
		eventually(t, "reaping", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
}

// A start that hangs, as of a program on a disk that does not answer, holds up
// neither the end of the process nor that of its being a subreaper.
func TestEndBesideAStartThatHangs(t *testing.T) {
	stop, err := BecomeSubreaper()
	if err != nil {
		t.Fatal(err)
	}
	starting.Lock()
	defer starting.Unlock()
	syscall.Kill(os.Getpid(), syscall.SIGCHLD)
	over := make(chan struct{})
	go func() {
		defer close(over)
		KillOrphans()
		stop()
	}()
	await(t, over, "the end")
}

// What cleared its environment, left the session and lost its parent is beyond
// Kill's reach, but not beyond KillOrphans'.
func TestKillOrphans(t *testing.T) {
	stop, err := BecomeSubreaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p, err := Start(Spec{Path: "/bin/sh", RunID: NewRunID(), Args: []string{"-c",
		`env -i /bin/sh -c 'setsid /bin/sh -c "echo ready \$\$; exec sleep 3600" & exit 0'; exit 0`}})
	if err != nil {
		t.Fatal(err)
	}
	pid := readyPids(t, bufio.NewReader(p.Stdout), 1)[0]
	await(t, p.Done(), "exit")
	eventually(t, "adoption", func() bool { m, _ := procfs{"/proc"}.stat(pid); return m.ppid == os.Getpid() })
	mine := exec.Command("sleep", "3600")
	if err := mine.Start(); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if !alive(pid) {
		t.Error("the test's process was within Kill's reach")
	}
	KillOrphans()
	awaitDeath(t, pid, time.Second)
	if !alive(mine.Process.Pid) {
		t.Error("a child of other code was killed")
	}
	mine.Process.Kill()
	mine.Wait()
	p.Release()
	await(t, p.Gone(), "end")
	await(t, p.StderrDone(), "stderr's end")
}

// The reaper must not take an exit that somebody waits for.
func TestReaperStealsNothing(t *testing.T) {
	stop, err := BecomeSubreaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for range 25 {
				if worker%2 == 0 {
					out, err := exec.Command("/bin/sh", "-c", "echo x; exit 7").Output()
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.ExitCode() != 7 || strings.TrimSpace(string(out)) != "x" {
						t.Errorf("os/exec: %v", err)
					}
					continue
				}
				p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "(setsid true &) ; exit 7"}})
				if err != nil {
					t.Error(err)
					continue
				}
				<-p.Done()
				if e := p.Exit(); e.Code != 7 {
					t.Errorf("exit: %+v", e)
				}
				p.Release()
				<-p.Gone()
				<-p.StderrDone()
			}
		})
	}
	all.Wait()
	own, _ := unix.Getsid(0)
	eventually(t, "all zombies to be reaped", func() bool {
		table, err := procfs{"/proc"}.list()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range table {
			if m.ppid == os.Getpid() && m.zombie && m.sid != own {
				return false
			}
		}
		return true
	})
}

func TestParseStat(t *testing.T) {
	line := "42 (a) b (c)) S 1 41 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n"
	if p, ok := parseStat(42, []byte(line)); !ok || p != (proc{pid: 42, ppid: 1, pgrp: 41, sid: 40, born: 12345}) {
		t.Errorf("%+v %v", p, ok)
	}
	if p, ok := parseStat(9, []byte("9 (acp-shim-guard) S 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n")); !ok || !p.guard || p.zombie {
		t.Errorf("guard: %+v %v", p, ok)
	}
	for n := range strings.Index(line, " 0 0\n") - 1 {
		if _, ok := parseStat(42, []byte(line[:n])); ok && n < strings.Index(line, "12345") {
			t.Errorf("taken from %q", line[:n])
		}
	}
}
