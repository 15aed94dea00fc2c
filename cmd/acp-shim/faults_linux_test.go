package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"acp-shim/internal/faults"
	"acp-shim/record"
)

// catchable skips a test where calls of other processes cannot be caught: containers may
// forbid it, and kernels before 5.19 do not know how.
func catchable(t *testing.T) {
	t.Helper()
	if why := uncatchable(); why != "" {
		t.Skip(why)
	}
}

var uncatchable = sync.OnceValue(func() string {
	in, err := faults.New([]string{"true"}, []string{"getrandom"}, func(faults.Call) syscall.Errno { return 0 })
	if err != nil {
		return err.Error()
	}
	out, err := exec.Command(in.Args[0], in.Args[1:]...).CombinedOutput()
	in.Close() // what is wrong with it the launcher has said
	if err != nil && strings.Contains(string(out), "this system lets no test") {
		return string(out)
	}
	return ""
})

// faulty is one short conversation of a shim whose system calls may fail.
type faulty struct {
	*editor
	t       *testing.T
	dir     string // of the captures
	counts  map[string]int
	hit     string // the call that failed
	asked   map[int]string
	session string
	errs    []string // error answers
}

// converse has a conversation in which everything is used that reads or writes:
// a capture beside an older one that is to be compressed, a config file and one of
// MCP servers that are followed, the state directory, the log, a login's settings.
// A call of names is answered by decide.
func converse(t *testing.T, names []string, decide func(faults.Call) syscall.Errno) *faulty {
	t.Helper()
	catchable(t)
	s := newStage(t)
	f := &faulty{t: t, dir: filepath.Join(s.home, "captures"), asked: map[int]string{}}
	for name, text := range map[string]string{
		".config/acp-shim/config.json":            `{"rules":[]}`,
		"captures/20200101T000000.000Z-1-a.jsonl": oldCapture(t),
	} {
		path := filepath.Join(s.home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{s.shim, "--record=" + f.dir + "/", "--mcp-config=" + s.mcpFile(), "--profile=agy", "--"}, s.sim("1.1.1")...)
	in, err := faults.New(args, names, func(c faults.Call) syscall.Errno {
		c.On = strings.ReplaceAll(c.On, s.home, "HOME")
		errno := decide(c)
		if errno != 0 && f.hit == "" {
			f.hit = fmt.Sprintf("%v: %v", c, errno)
		}
		return errno
	})
	if err != nil {
		t.Fatal(err)
	}
	f.editor = s.start(in.Args, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "GEMINI_HOME=")
	f.talk()
	f.end()
	f.wait()
	if left := s.gone(slowly(patience)); len(left) > 0 {
		t.Errorf("%s: left behind: %v", f.hit, left)
	}
	if f.counts, err = in.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// mcpFile makes a file of MCP servers.
func (s *stage) mcpFile() string {
	path := filepath.Join(s.home, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func oldCapture(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	w, err := record.Create(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ask sends a request and waits for its answer; false where there is none, or an
// error.
func (f *faulty) ask(method, params string) (line, bool) {
	id := f.request(method, params)
	f.asked[id] = method
	return f.reply(id)
}

func (f *faulty) reply(id int) (line, bool) {
	i := f.await(0, fmt.Sprintf("%s: the answer to %s", f.hit, f.asked[id]), isAnswer(id))
	if i < 0 {
		return line{}, false
	}
	l := f.line(i)
	if e := l.Get("error"); e.Exists() {
		f.errs = append(f.errs, f.asked[id]+": "+e.Get("message").Str)
		return l, false
	}
	return l, true
}

// talk stops where an answer is an error: then the client knows.
func (f *faulty) talk() {
	if _, ok := f.ask("initialize", `{"protocolVersion":1}`); !ok {
		return
	}
	made, ok := f.ask("session/new", `{"cwd":"/","mcpServers":[]}`)
	if !ok {
		return
	}
	f.session = made.Get("result.sessionId").Str
	if _, ok = f.ask("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configOptionId":"model","value":"gemini-3.8-flash-low"}`, f.session)); !ok {
		return
	}
	from := f.count()
	r, ok := f.ask("session/prompt", prompting(f.session, "stream 5"))
	if !ok {
		return
	}
	if text := spoken(f.since(from, -1)); r.Get("result.stopReason").Str != "end_turn" || text != "1\n2\n3\n4\n5" {
		f.t.Errorf("%s: the turn said %q and ended %s", f.hit, text, r.Raw)
	}
	from = f.count()
	id := f.request("session/prompt", prompting(f.session, "stream 100000 every 5ms"))
	f.asked[id] = "session/prompt"
	if f.await(from, f.hit+": a chunk", isUpdate("agent_message_chunk")) < 0 {
		return
	}
	f.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, f.session))
	if r, ok := f.reply(id); ok && r.Get("result.stopReason").Str != "cancelled" {
		f.t.Errorf("%s: the cancelled turn ended %s", f.hit, r.Raw)
	}
}

// judge holds what came of it to what is promised whatever fails.
func (f *faulty) judge() {
	f.judgeAnswers()
	f.judgeCapture()
}

// judgeAnswers finds one answer to each request, only protocol on stdout, and an end
// that says why.
func (f *faulty) judgeAnswers() {
	t, code, said := f.t, f.cmd.ProcessState.ExitCode(), f.errText()
	gone := strings.Contains(f.logText(), "the client does not read any more")
	for _, bad := range []string{"panic:", "fatal error:", "goroutine ", "unexpected fault"} {
		if strings.Contains(said, bad) {
			t.Errorf("%s: it broke: %.2000s", f.hit, said)
		}
	}
	answers := map[string]int{}
	for _, l := range f.since(0, -1) {
		if l.Get("jsonrpc").Str != "2.0" {
			t.Errorf("%s: on stdout: %.200q", f.hit, l.Raw)
		}
		if !l.Get("method").Exists() {
			answers[l.Get("id").Raw]++
		}
	}
	for id, method := range f.asked {
		if n := answers[fmt.Sprint(id)]; n > 1 || n == 0 && code == 0 && !gone {
			t.Errorf("%s: %s (%d) has %d answers, and the exit code is %d", f.hit, method, id, n, code)
		}
	}
	if code != 0 && strings.TrimSpace(said) == "" {
		t.Errorf("%s: it ended with code %d and says nothing", f.hit, code)
	}
}

// judgeCapture finds the capture whole, or somebody told that it is not.
func (f *faulty) judgeCapture() {
	told := false
	for _, words := range []string{"nothing is recorded", "the capture is in trouble", "the capture is not complete"} {
		told = told || strings.Contains(f.errText(), words)
	}
	if told || f.cmd.ProcessState.ExitCode() == 2 {
		return // 2: it did not start
	}
	files, _ := filepath.Glob(filepath.Join(f.dir, "*.jsonl"))
	files = slices.DeleteFunc(files, func(name string) bool { return strings.Contains(name, "20200101") })
	if len(files) != 1 {
		f.t.Errorf("%s: the captures are %q, and nobody was told", f.hit, files)
		return
	}
	c, err := record.Open(files[0])
	if err != nil {
		f.t.Errorf("%s: nobody was told: %v", f.hit, err)
		return
	}
	defer c.Close()
	last := record.Entry{}
	for e, err := range c.Entries() {
		if err != nil {
			f.t.Errorf("%s: nobody was told: %v", f.hit, err)
			return
		}
		if e.Header == nil && e.Seq != last.Seq+1 {
			f.t.Errorf("%s: seq %d follows %d, and nobody was told", f.hit, e.Seq, last.Seq)
		}
		last = e
	}
	if last.Event != "end" {
		f.t.Errorf("%s: the capture has no end, and nobody was told", f.hit)
	}
}

func (f *faulty) logText() string {
	b, _ := os.ReadFile(filepath.Join(f.stage.home, ".local/state/acp-shim/logs/acp-shim.log"))
	return string(b)
}
