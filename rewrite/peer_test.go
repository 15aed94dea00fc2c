package rewrite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"acp-shim/fixtures/sim"
	"acp-shim/internal/agent"
	"acp-shim/proxy"
)

// The test binary plays the simulator, its harness and its tools.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sim" {
		os.Exit(sim.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	// The bridge that tools are called at keeps its sessions for a while.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// patience bounds every wait of a test; no test passes by it.
const patience = 20 * time.Second

// peer plays a client, of a bare agent or of the shim.
type peer struct {
	t       testing.TB
	in      io.WriteCloser
	lines   chan string // what the agent says; closed at its end
	stop    func()      // waits for the end
	stderr  lockedText
	session string
	pick    func(options []option) string // answers a permission request
	seen    []string
	said    string // chunks that have not become a line of seen
}

type option struct{ OptionID, Kind string }

type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func simCommand(t *testing.T, args []string) (string, []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe, append([]string{"sim", "--home", t.TempDir()}, args...)
}

// simEnv keeps the race detector's runtime from sleeping a second at every exit.
const simEnv = "GORACE=atexit_sleep_ms=0"

// bare is the client of a simulator without the shim.
func bare(t *testing.T, args ...string) *peer {
	t.Helper()
	p := newPeer(t)
	exe, argv := simCommand(t, args)
	cmd := exec.Command(exe, argv...)
	cmd.Env = append(os.Environ(), simEnv)
	cmd.Stderr = &p.stderr
	var out io.ReadCloser
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := p.read(out)
	p.stop = func() {
		p.in.Close()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the simulator: %v", err)
		}
	}
	t.Cleanup(p.end)
	return p
}

// through is the client of a shim with the interceptors in its chain, in front
// of a simulator.
func through(t *testing.T, rw *Rewriter, more []proxy.Interceptor, args ...string) *peer {
	t.Helper()
	exe, argv := simCommand(t, args)
	p := newPeer(t)
	stderr := agent.SkipLines(rw.Noise, func(line []byte) { p.stderr.Write(line) })
	p.run(proxy.Config{
		Options: proxy.Options{
			Chain:  append(more, rw),
			Policy: func(result []byte) proxy.Policy { return rw.Policy("auto", result) },
			Guess:  rw.Guess("auto", "/opt/agy_acp_server.par"),
			Nonce:  "t", Strict: true,
		},
		Start: func(gen int) (proxy.Process, error) {
			return proxy.Command(proxy.Spec{
				Path: exe, Args: argv, ExtraEnv: []string{simEnv}, RunID: agent.NewRunID(), Gen: gen, Stderr: stderr,
			})
		},
	})
	return p
}

func newPeer(t testing.TB) *peer {
	return &peer{t: t, lines: make(chan string, 4096), stop: func() {}, pick: func(list []option) string {
		for _, o := range list {
			if strings.HasPrefix(o.Kind, "allow") {
				return o.OptionID // as pi does
			}
		}
		return ""
	}}
}

// run starts a loop between the peer and what cfg starts.
func (p *peer) run(cfg proxy.Config) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	cfg.In, cfg.Out, cfg.OutFD = inR, outW, -1
	p.in = inW
	loop := proxy.New(cfg)
	over := make(chan struct{})
	go func() {
		defer close(over)
		loop.Run(context.Background())
		outW.Close()
	}()
	read := p.read(outR)
	p.stop = func() {
		inW.Close()
		<-over
		<-read
	}
	p.t.Cleanup(p.end)
}

func (p *peer) read(out io.Reader) chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(p.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				p.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return done
}

// end ends the conversation and waits for everything that was started.
func (p *peer) end() {
	stop := p.stop
	p.stop = func() {}
	stop()
}

func (p *peer) send(line string) {
	p.t.Helper()
	line = strings.ReplaceAll(line, "$S", p.session)
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("sending %.200s: %v", line, err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the agent's output has ended")
		}
		return l
	case <-time.After(patience):
		p.t.Fatalf("nothing came within %v; seen so far:\n%s", patience, strings.Join(p.seen, "\n"))
		return ""
	}
}

type frame struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Update    struct {
			SessionUpdate, ToolCallID, Title, Status string
			Content                                  json.RawMessage
			RawInput, RawOutput                      json.RawMessage
		}
		Options []option
	}
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// ask sends a request and writes down in short what comes until it is answered.
// It returns the answer's line.
func (p *peer) ask(request string) string {
	p.t.Helper()
	var id struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(request), &id); err != nil {
		p.t.Fatalf("%s: %v", request, err)
	}
	p.send(request)
	for {
		line := p.line()
		var f frame
		if json.Unmarshal([]byte(line), &f) != nil {
			p.note("noise " + strings.TrimSpace(line))
			continue
		}
		switch {
		case f.Method == "session/request_permission":
			p.answer(f)
		case f.Method != "":
			p.update(f)
		case string(f.ID) == string(id.ID):
			p.note(fmt.Sprintf("%s %s", f.ID, brief(f)))
			var made struct{ SessionID string }
			if json.Unmarshal(f.Result, &made) == nil && made.SessionID != "" {
				p.session = made.SessionID
			}
			return line
		default:
			p.note("stray " + strings.TrimSpace(line))
		}
	}
}

func (p *peer) answer(f frame) {
	p.t.Helper()
	var kinds []string
	for _, o := range f.Params.Options {
		kinds = append(kinds, o.Kind)
	}
	choice := p.pick(f.Params.Options)
	p.note("asks " + strings.Join(kinds, ",") + " gets " + choice)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, f.ID, choice))
}

func (p *peer) update(f frame) {
	u := f.Params.Update
	switch u.SessionUpdate {
	case "agent_message_chunk":
		var c struct{ Text string }
		if err := json.Unmarshal(u.Content, &c); err != nil {
			p.t.Fatal(err)
		}
		p.said += c.Text
	case "tool_call", "tool_call_update":
		p.note(strings.TrimSpace(fmt.Sprintf("%s %s %s in=%s out=%s", u.SessionUpdate, u.Title, u.Status, u.RawInput, u.RawOutput)))
	case "available_commands_update", "usage_update":
	default:
		p.note(u.SessionUpdate)
	}
}

// note writes a line down, after the text that came before it.
func (p *peer) note(line string) {
	if p.said != "" {
		p.seen = append(p.seen, fmt.Sprintf("text %q", p.said))
		p.said = ""
	}
	p.seen = append(p.seen, line)
}

// brief is an answer in short.
func brief(f frame) string {
	if f.Error != nil {
		text := fmt.Sprintf("error %d", f.Error.Code)
		var data struct {
			Errors []struct {
				Loc []any
				Msg string
			}
		}
		if json.Unmarshal(f.Error.Data, &data) != nil || data.Errors == nil {
			return text + " " + f.Error.Message
		}
		for _, e := range data.Errors {
			var loc []string
			for _, x := range e.Loc {
				loc = append(loc, fmt.Sprint(x))
			}
			text += " " + strings.Join(loc, ".") + ": " + e.Msg
		}
		return text
	}
	var r map[string]json.RawMessage
	if json.Unmarshal(f.Result, &r) == nil && (r["sessionId"] != nil || r["configOptions"] != nil) {
		var names []string
		for _, name := range []string{"sessionId", "modes", "models", "configOptions"} {
			if r[name] != nil {
				names = append(names, name)
			}
		}
		return "result with " + strings.Join(names, ", ")
	}
	return "result " + string(f.Result)
}
