//go:build unix

package agent

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVar makes this binary play a part instead of running tests.
const roleVar = "AGENT_TEST_ROLE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == GuardArg {
		// Not os.Exit: with the race detector that takes a second.
		syscall.Exit(GuardMain(os.Args[2:]))
	}
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role, os.Args[1:]))
	}
	// With the race detector a process takes a second to exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// play is the child's side of the tests. What it prints on stdout is what the
// test waits for.
func play(role string, args []string) int {
	switch role {
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
	case "exit":
		code, _ := strconv.Atoi(args[0])
		return code
	case "raise":
		n, _ := strconv.Atoi(args[0])
		signal.Reset()
		syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	case "sleep":
		fmt.Println("ready", os.Getpid())
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("ready", os.Getpid())
		time.Sleep(time.Hour)
	case "env":
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
	case "flags":
		for fd := range 3 {
			flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
			fmt.Println(fd, flags&syscall.O_NONBLOCK != 0, errno == 0)
		}
	case "fds":
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
				fmt.Println(e.Name(), target)
			}
		}
	case "flood":
		line := []byte(strings.Repeat("x", 99) + "\n")
		for range 80_000 {
			os.Stderr.Write(line)
		}
		fmt.Println("done")
	case "stderr":
		// Writes what it reads, as it comes.
		io.Copy(os.Stderr, os.Stdin)
	case "family":
		// A child in a session of its own, whose own child is orphaned at once;
		// both print their pids. "family stay" waits, "family leave" exits.
		family()
		if args[0] == "stay" {
			time.Sleep(time.Hour)
		}
	case "jobs":
		startJob()
		time.Sleep(time.Hour)
	case "orphaner":
		startRole("sleep", true, nil)
	case "shim":
		return playShim(args)
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
		return 99
	}
	return 0
}

// startRole starts this binary in another role with stdout shared, and returns
// when it is ready to be counted on.
func startRole(role string, setsid bool, env []string, args ...string) *exec.Cmd {
	exe, _ := os.Executable()
	c := exec.Command(exe, args...)
	c.Env = append(append(os.Environ(), env...), roleVar+"="+role)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := c.Start(); err != nil {
		panic(err)
	}
	return c
}

// startJob starts a process in a group of its own in this session.
func startJob() {
	exe, _ := os.Executable()
	c := exec.Command(exe)
	c.Env = append(os.Environ(), roleVar+"=sleep")
	c.Stdout = os.Stdout
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		panic(err)
	}
}

// family leaves three processes: one in the same session, one in a session of
// its own, and one in a session of its own whose parent is gone.
func family() {
	startRole("sleep", false, nil)
	startRole("sleep", true, nil)
	startRole("orphaner", true, nil).Wait()
}

// familySize is how many processes say "ready" after family.
const familySize = 3

// playShim is a shim: a guard and two agents with families. It prints what
// they print, then "up", and waits to be killed.
func playShim(args []string) int {
	run := args[0]
	g, err := StartGuard(run)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = g
	for gen := range 2 {
		p, err := Start(roleSpec("family", func(s *Spec) {
			s.RunID, s.Gen, s.Args, s.PrivateTemp = run, gen, []string{"stay"}, true
		}))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("ready", p.Pid)
		fmt.Println("temp", p.Temp())
		lines := bufio.NewScanner(p.Stdout)
		for range familySize {
			lines.Scan()
			fmt.Println(lines.Text())
		}
	}
	fmt.Println("up")
	io.Copy(io.Discard, os.Stdin)
	if len(args) > 1 && args[1] == "exit" {
		return 0
	}
	time.Sleep(time.Hour)
	return 0
}

// roleSpec is a Spec for this binary in a role.
func roleSpec(role string, change func(*Spec)) Spec {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s := Spec{Path: exe, RunID: NewRunID(), ExtraEnv: []string{roleVar + "=" + role}}
	if change != nil {
		change(&s)
	}
	return s
}

// start starts a role and cleans up after it.
func start(t *testing.T, role string, change func(*Spec)) *Process {
	t.Helper()
	p, err := Start(roleSpec(role, change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Release()
		await(t, p.Gone(), "the process's end")
		await(t, p.StderrDone(), "stderr's end")
	})
	return p
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited 20 s for %s", what)
	}
}

// readyPids reads n lines "ready PID".
func readyPids(t *testing.T, r *bufio.Reader, n int) []int {
	t.Helper()
	var pids []int
	for range n {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d of %d lines: %v", len(pids), n, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "ready ")))
		if err != nil {
			t.Fatalf("not a ready line: %q", line)
		}
		pids = append(pids, pid)
	}
	return pids
}
