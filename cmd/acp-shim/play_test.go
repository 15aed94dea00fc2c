//go:build unix

package main

import (
	"bufio"
	"errors"
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

	"github.com/tidwall/gjson"
)

// patience bounds every wait of a test; nothing passes by it.
const patience = 30 * time.Second

// stage is where one test's programs live: a home, a working directory, and
// the test binary under the name of the program.
type stage struct {
	t    *testing.T
	home string
	cwd  string
	shim string
	env  []string
	// untidy tells that what is played leaves processes behind by itself.
	untidy bool
}

// stageMark begins the variable by which the processes of a stage are known.
const stageMark = "ACP_SHIM_TEST_STAGE="

func newStage(t *testing.T) *stage {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, home: t.TempDir(), cwd: t.TempDir()}
	s.shim = filepath.Join(s.home, "bin", "acp-shim")
	for _, err := range []error{
		os.Mkdir(filepath.Dir(s.shim), 0o755),
		os.Symlink(exe, s.shim),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// With the race detector every exit would take a second more.
	s.env = []string{stageMark + s.home, "PATH=" + os.Getenv("PATH"), "HOME=" + s.home, playsMain + "=1", "GORACE=atexit_sleep_ms=0"}
	t.Cleanup(s.leftovers)
	return s
}

// sim is the command line of the simulated agent.
func (s *stage) sim(build string, flags ...string) []string {
	return append([]string{s.shim, "sim", "--build", build}, flags...)
}

// editor is the client's end of one connection. Nothing that came is thrown
// away, so that a test can also say what did not come.
type editor struct {
	t      *testing.T
	stage  *stage
	cmd    *exec.Cmd
	exited chan struct{}
	nextID int

	sending sync.Mutex
	stdin   io.WriteCloser
	sent    strings.Builder

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something came
	lines   []line
	ended   bool
	stderr  []byte
	// answer gives the body of the answer to a request of the agent's; nil for
	// a user who answers nothing.
	answer func(frame gjson.Result) string
}

type line struct {
	gjson.Result
	at time.Time
}

// start starts a program in a process group of its own.
func (s *stage) start(argv []string, env ...string) *editor {
	s.t.Helper()
	c := &editor{t: s.t, stage: s, exited: make(chan struct{}), changed: make(chan struct{}), answer: allowFirst}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir = s.cwd
	c.cmd.Env = append(append([]string(nil), s.env...), env...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	c.stdin = stdin
	// Not the pipes of exec, whose readers Wait cuts off, or waits for as long
	// as a tool that was left behind has them open.
	out, childOut, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	errs, childErrs, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	c.cmd.Stdout, c.cmd.Stderr = childOut, childErrs
	if err := c.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	childOut.Close()
	childErrs.Close()
	go c.read(out)
	go func() {
		defer errs.Close()
		_, _ = io.Copy((*stderr)(c), errs) // to its end, however it comes
	}()
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait() // how it ended is asked of ProcessState
	}()
	s.t.Cleanup(c.end)
	return c
}

func (c *editor) read(out *os.File) {
	defer out.Close()
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		text, err := r.ReadString('\n')
		if text != "" {
			l := line{gjson.Parse(text), time.Now()}
			if l.Get("method").Exists() && l.Get("id").Exists() {
				c.mu.Lock()
				answer := c.answer
				c.mu.Unlock()
				if answer != nil {
					c.send(`{"jsonrpc":"2.0","id":` + l.Get("id").Raw + `,` + answer(l.Result) + `}`)
				}
			}
			c.note(func() { c.lines = append(c.lines, l) })
		}
		if err != nil {
			c.note(func() { c.ended = true })
			return
		}
	}
}

func (c *editor) note(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// stderr collects what a program says there.
type stderr editor

func (s *stderr) Write(b []byte) (int, error) {
	(*editor)(s).note(func() { s.stderr = append(s.stderr, b...) })
	return len(b), nil
}

// allowFirst answers as pi does: a permission with the first option whose kind
// begins with allow, everything else with an error.
func allowFirst(frame gjson.Result) string {
	if frame.Get("method").Str != "session/request_permission" {
		return `"error":{"code":-32603,"message":"client capability not enabled: ` + frame.Get("method").Str + `"}`
	}
	for _, o := range frame.Get("params.options").Array() {
		if strings.HasPrefix(o.Get("kind").Str, "allow") {
			return `"result":{"outcome":{"outcome":"selected","optionId":` + o.Get("optionId").Raw + `}}`
		}
	}
	return `"error":{"code":-32603,"message":"there is no option that allows"}`
}

// silent leaves the agent's requests without an answer from now on.
func (c *editor) silent() {
	c.note(func() { c.answer = nil })
}

func (c *editor) send(text string) {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.sent.WriteString(text + "\n")
	if _, err := io.WriteString(c.stdin, text+"\n"); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		c.t.Errorf("sending %.200s: %v", text, err)
	}
}

// written is everything that was sent so far.
func (c *editor) written() string {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.sent.String()
}

// request sends a request and returns its id.
func (c *editor) request(method, params string) int {
	id := c.nextID
	c.nextID++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id
}

func (c *editor) notify(method, params string) {
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// await returns the index of the first line from the given one on that is
// wanted; -1 if the output ended without it.
func (c *editor) await(from int, what string, wanted func(line) bool) int {
	c.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		c.mu.Lock()
		lines, changed, ended := c.lines, c.changed, c.ended
		c.mu.Unlock()
		for ; from < len(lines); from++ {
			if wanted(lines[from]) {
				return from
			}
		}
		if ended {
			return -1
		}
		select {
		case <-changed:
		case <-late.C:
			c.t.Fatalf("%s did not come within %v", what, patience)
		}
	}
}

// must is await for what has to come.
func (c *editor) must(from int, what string, wanted func(line) bool) int {
	c.t.Helper()
	at := c.await(from, what, wanted)
	if at < 0 {
		c.t.Fatalf("the output ended before %s came", what)
	}
	return at
}

func isAnswer(id int) func(line) bool {
	return func(l line) bool {
		return l.Get("id").Raw == fmt.Sprint(id) && !l.Get("method").Exists()
	}
}

func isUpdate(kind string) func(line) bool {
	return func(l line) bool { return l.Get("params.update.sessionUpdate").Str == kind }
}

// answerTo waits for the answer to a request.
func (c *editor) answerTo(id int) line {
	c.t.Helper()
	return c.line(c.must(0, fmt.Sprintf("the answer to %d", id), isAnswer(id)))
}

func (c *editor) call(method, params string) line {
	c.t.Helper()
	return c.answerTo(c.request(method, params))
}

func (c *editor) line(i int) line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[i]
}

// count is how many lines have come.
func (c *editor) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines)
}

// since are the lines from the given one up to, and without, the other; to the
// last that came for -1.
func (c *editor) since(from, to int) []line {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to < 0 {
		to = len(c.lines)
	}
	return append([]line(nil), c.lines[from:to]...)
}

// awaitErr waits for a text on stderr.
func (c *editor) awaitErr(text string) {
	c.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		c.mu.Lock()
		found, changed := strings.Contains(string(c.stderr), text), c.changed
		c.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			c.t.Fatalf("%q did not come on stderr within %v", text, patience)
		}
	}
}

func (c *editor) errText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.stderr)
}

// spoken joins the message chunks of some lines.
func spoken(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		if l.Get("params.update.sessionUpdate").Str == "agent_message_chunk" {
			b.WriteString(l.Get("params.update.content.text").Str)
		}
	}
	return b.String()
}

// wait waits for the end of the program.
func (c *editor) wait() *os.ProcessState {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.t.Fatalf("the program did not end within %v", patience)
	}
	return c.cmd.ProcessState
}

func (c *editor) closeInput() {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.stdin.Close()
}

// signal goes to the whole group, as pi and a terminal send it.
func (c *editor) signal(sig syscall.Signal) {
	if err := syscall.Kill(-c.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.t.Errorf("sending %v: %v", sig, err)
	}
}

// end is the last thing of every client.
func (c *editor) end() {
	c.closeInput()
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.t.Errorf("the program did not end within %v of the end of its input", patience)
		c.signal(syscall.SIGKILL)
		<-c.exited
	}
	if c.t.Failed() {
		lines := c.since(0, -1)
		lines = lines[max(0, len(lines)-30):]
		for _, l := range lines {
			c.t.Logf("came: %.300s", strings.TrimSpace(l.Raw))
		}
		text := c.errText()
		c.t.Logf("stderr: %s", text[max(0, len(text)-4000):])
	}
}
