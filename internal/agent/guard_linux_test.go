package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shim is a subprocess that plays the shim, in a session of its own as if
// another client had started it.
type shim struct {
	cmd   *exec.Cmd
	stdin io.Closer
	pids  []int
	temps []string
}

func startShim(t *testing.T, args ...string) *shim {
	t.Helper()
	exe, _ := os.Executable()
	s := &shim{cmd: exec.Command(exe, append([]string{NewRunID()}, args...)...)}
	s.cmd.Env = append(os.Environ(), roleVar+"=shim")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.cmd.Stderr = os.Stderr
	s.stdin, _ = s.cmd.StdinPipe()
	out, _ := s.cmd.StdoutPipe()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch what, rest, _ := strings.Cut(lines.Text(), " "); what {
		case "ready":
			pid, _ := strconv.Atoi(rest)
			s.pids = append(s.pids, pid)
		case "temp":
			s.temps = append(s.temps, rest)
		case "up":
			if want := 2 * (1 + familySize); len(s.pids) != want {
				t.Fatalf("the shim has %d processes, want %d", len(s.pids), want)
			}
			return s
		default:
			t.Fatalf("the shim says %q", lines.Text())
		}
	}
	t.Fatal("the shim ended before it was up")
	return nil
}

func TestNothingOutlivesTheShim(t *testing.T) {
	ends := map[string]func(*shim){
		"SIGKILL":          func(s *shim) { s.cmd.Process.Kill() },
		"SIGKILL to group": func(s *shim) { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) },
		"SIGTERM":          func(s *shim) { s.cmd.Process.Signal(syscall.SIGTERM) },
		"exit":             func(s *shim) { s.stdin.Close() },
	}
	repeat := map[string]int{"SIGKILL": 20}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for range max(1, repeat[name]) {
				s := startShim(t, "exit")
				for _, pid := range s.pids {
					if !alive(pid) {
						t.Fatalf("%d is dead before the shim", pid)
					}
				}
				guard := guardOf(t, s.cmd.Process.Pid)
				end(s)
				within := time.Now().Add(time.Second)
				for _, pid := range s.pids {
					awaitDeath(t, pid, time.Until(within))
				}
				s.cmd.Wait()
				awaitDeath(t, guard, 5*time.Second)
			}
		})
	}
}

func TestGuardRemovesTemporaryDirectories(t *testing.T) {
	s := startShim(t)
	for _, dir := range s.temps {
		if err := os.WriteFile(filepath.Join(dir, "_MEI1"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	guard := guardOf(t, s.cmd.Process.Pid)
	s.cmd.Process.Kill()
	s.cmd.Wait()
	awaitDeath(t, guard, 5*time.Second)
	for _, dir := range s.temps {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", dir, err)
		}
	}
}

// guardOf finds a shim's guard among its children.
func guardOf(t *testing.T, shim int) int {
	t.Helper()
	table, err := procfs{"/proc"}.list()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table {
		cmdline, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if p.ppid == shim && bytes.Contains(cmdline, []byte("\x00"+GuardArg+"\x00")) {
			return p.pid
		}
	}
	t.Fatal("the shim has no guard")
	return 0
}

func TestGuardKeepsNothingOpenAndIsDeaf(t *testing.T) {
	// What a careless client left open in the shim.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	exe, _ := os.Executable()
	cmd := exec.Command(exe, NewRunID())
	cmd.Env = append(os.Environ(), roleVar+"=shim", EnvRun+"=outer-run")
	cmd.ExtraFiles = []*os.File{r}
	stdin, _ := cmd.StdinPipe()
	defer stdin.Close()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	var pids []int
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "up"; {
		if pid, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
	}
	guard := guardOf(t, cmd.Process.Pid)
	dir := "/proc/" + strconv.Itoa(guard)
	if block, _ := os.ReadFile(dir + "/environ"); bytes.Contains(block, []byte("ACP_SHIM")) {
		t.Errorf("the guard's environment has a mark: %q", block)
	}
	fds, _ := os.ReadDir(dir + "/fd")
	for _, fd := range fds {
		target, _ := os.Readlink(dir + "/fd/" + fd.Name())
		switch n, _ := strconv.Atoi(fd.Name()); {
		case n < 3 && target != os.DevNull, n == 3 && !strings.HasPrefix(target, "pipe:"),
			n > 3 && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/sys/fs/cgroup/"):
			t.Errorf("the guard's descriptor %d is %s", n, target)
		}
	}
	if comm, _ := os.ReadFile(dir + "/comm"); strings.TrimSpace(string(comm)) != "acp-shim-guard" {
		t.Errorf("the guard is called %q", comm)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		syscall.Kill(guard, sig)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, pid := range pids {
		awaitDeath(t, pid, time.Second)
	}
	awaitDeath(t, guard, 5*time.Second)
}

// The outer shim's guard finds what an inner shim started, since marks add up.
func TestOuterGuardReachesInnerAgents(t *testing.T) {
	outer := NewRunID()
	t.Setenv(EnvRun, outer)
	g, err := StartGuard(outer)
	if err != nil {
		t.Fatal(err)
	}
	s := startShim(t)
	inner := guardOf(t, s.cmd.Process.Pid)
	g.Close()
	for _, pid := range s.pids {
		awaitDeath(t, pid, time.Second)
	}
	awaitDeath(t, s.cmd.Process.Pid, time.Second)
	s.cmd.Wait()
	await(t, g.Done(), "the guard's end")
	awaitDeath(t, inner, 5*time.Second)
	for _, dir := range s.temps {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the inner guard did not get to remove %s (%v)", dir, err)
		}
	}
}

func TestGuardCanBeReplaced(t *testing.T) {
	run := NewRunID()
	g, err := StartGuard(run)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "sleep", func(s *Spec) { s.RunID = run })
	readyPids(t, bufio.NewReader(p.Stdout), 1)
	syscall.Kill(guardOf(t, os.Getpid()), syscall.SIGKILL)
	await(t, g.Done(), "the guard's end")
	if !alive(p.Pid) {
		t.Fatal("the agent died with the guard")
	}
	again, err := StartGuard(run)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	await(t, again.Done(), "the second guard's end")
	await(t, p.Done(), "the agent's end")
	g.Close()
	again.Close()
}

func TestGuardMainIsNotForUsers(t *testing.T) {
	for _, args := range [][]string{nil, {"short"}, {"with:colon-in-it"}, {NewRunID(), "more"}, {NewRunID()}} {
		exe, _ := os.Executable()
		cmd := exec.Command(exe, append([]string{GuardArg}, args...)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "own use") {
			t.Errorf("%s %q: error %v, output %q", GuardArg, args, err, out)
		}
	}
	if _, err := StartGuard(""); err == nil {
		t.Error("a guard without a run id would kill everything")
	}
}

// Where the table cannot be read, the guard has the groups that it was told.
func TestWardWithoutProc(t *testing.T) {
	p := start(t, "sleep", nil)
	readyPids(t, bufio.NewReader(p.Stdout), 1)
	w := newWard()
	for line := range strings.Lines(guardAdd(p)) {
		w.hear(strings.TrimSuffix(line, "\n"))
	}
	w.clear(NewRunID(), procfs{t.TempDir()}, time.Second)
	await(t, p.Done(), "exit")
}

func TestWardHears(t *testing.T) {
	w := newWard()
	for _, line := range []string{"+10 5", "+11 6", "-10", "t/tmp/acp-shim-1", "t/tmp/acp-shim-2", "-t/tmp/acp-shim-1",
		"", "+", "+x 1", "+1 1", "-", "+-5 1", "?"} {
		w.hear(line)
	}
	if len(w.agents) != 1 || w.agents[11] != 6 {
		t.Errorf("agents: %v", w.agents)
	}
	if len(w.temps) != 1 || !w.temps["/tmp/acp-shim-2"] {
		t.Errorf("temporary directories: %v", w.temps)
	}
}
