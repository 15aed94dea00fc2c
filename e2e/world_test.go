//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait; nothing passes by it.
const patience = 60 * time.Second

// world is where the programs of one test live.
type world struct {
	t    *testing.T
	home string
	cwd  string
	env  []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir()}
	w.cwd = filepath.Join(w.home, "project")
	if err := os.Mkdir(w.cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = []string{
		"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "HOME=" + w.home, "GEMINI_HOME=" + filepath.Join(w.home, "gemini"),
		"XDG_CONFIG_HOME=" + filepath.Join(w.home, "config"), "XDG_STATE_HOME=" + filepath.Join(w.home, "state"),
		"XDG_DATA_HOME=" + filepath.Join(w.home, "data"), "XDG_CACHE_HOME=" + filepath.Join(w.home, "cache"),
		"NO_COLOR=1", "LANG=C.UTF-8",
	}
	t.Cleanup(w.leftovers)
	return w
}

func simulator(build string, flags ...string) []string {
	return append([]string{shim, "sim", "--build", build}, flags...)
}

// through is an agent's command with the shim in front of it.
func through(agent []string, flags ...string) []string {
	return append(append(append([]string{shim}, flags...), "--"), agent...)
}

// program is one that was started.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	exited chan struct{}

	mu      sync.Mutex
	changed chan struct{}
	said    strings.Builder // stdout and stderr, as they came
	stdout  strings.Builder
}

type saying struct {
	p      *program
	stdout bool
}

func (s saying) Write(b []byte) (int, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.said.Write(b)
	if s.stdout {
		s.p.stdout.Write(b)
	}
	close(s.p.changed)
	s.p.changed = make(chan struct{})
	return len(b), nil
}

func (w *world) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = w.cwd
	cmd.Env = w.env
	// What is left behind may hold the pipes; leftovers finds it.
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

func (w *world) start(argv []string) *program {
	w.t.Helper()
	p := &program{t: w.t, cmd: w.command(argv)}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	p.stdin = stdin
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.run(w)
	return p
}

func (p *program) run(w *world) {
	w.t.Helper()
	p.exited, p.changed = make(chan struct{}), make(chan struct{})
	if p.cmd.Stdout == nil {
		p.cmd.Stdout, p.cmd.Stderr = saying{p, true}, saying{p, false}
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended is asked of ProcessState
	}()
	w.t.Cleanup(p.end)
}

// say writes a line to the program.
func (p *program) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Errorf("writing %q: %v", line, err)
	}
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

func (p *program) out() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// await waits until the program has said something.
func (p *program) await(text string) {
	p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	exited := p.exited
	for {
		p.mu.Lock()
		found, changed := strings.Contains(p.said.String(), text), p.changed
		p.mu.Unlock()
		if found {
			return
		}
		if exited == nil {
			p.t.Fatalf("it ended without saying %q; it said\n%s", text, p.text())
		}
		select {
		case <-changed:
		case <-exited:
			exited = nil
		case <-late.C:
			p.t.Fatalf("it did not say %q within %v; it said\n%s", text, patience, p.text())
		}
	}
}

// wait waits for the program's end and returns its exit code, -1 for a signal.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("it did not end within %v; it said\n%s", patience, p.text())
		return 0
	}
}

func (p *program) end() {
	select {
	case <-p.exited:
	default:
		_ = p.cmd.Process.Kill() // it may have ended just now
		<-p.exited
	}
	if p.t.Failed() {
		p.t.Logf("%q said\n%s", p.cmd.Args, p.text())
	}
}

// do runs a program to its end.
func (w *world) do(argv ...string) (p *program, code int) {
	w.t.Helper()
	p = w.start(argv)
	p.stdin.Close()
	return p, p.wait()
}

// alive are the processes of this world, by the home in their environment.
func (w *world) alive() map[int]string {
	all := map[int]string{}
	procs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range procs {
		env, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\x00"+string(env), "\x00HOME="+w.home+"\x00") {
			continue
		}
		what := "a client: "
		if strings.Contains(string(env), "\x00ACP_SHIM_RUN=") {
			what = "started by the shim: "
		}
		var pid int
		fmt.Sscanf(path, "/proc/%d/", &pid)
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		all[pid] = what + strings.ReplaceAll(strings.TrimRight(string(cmd), "\x00"), "\x00", " ")
	}
	return all
}

// gone waits until a process has ended that is no child of ours.
func (w *world) gone(pid int) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") { // gone, or waiting to be asked how
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("process %d is still there after %v", pid, patience)
		}
	}
}

// leftovers fails the test if something outlives it. The time is for a machine
// that is busy with the other tests.
func (w *world) leftovers() {
	left := w.alive()
	for deadline := time.Now().Add(5 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = w.alive() {
		time.Sleep(10 * time.Millisecond)
	}
	for pid, what := range left {
		w.t.Errorf("left behind: %d, %s", pid, what)
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended just now
		}
	}
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}
