package rewrite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"acp-shim/proxy"
)

// scripted is an agent whose answers a test chooses.
type scripted struct {
	t     testing.TB
	info  string // its result of initialize
	reply func(a *scripted, f request) string
	exits chan string // the ends of its processes, as the taps see them

	mu   sync.Mutex
	got  []string // what it was sent, without initialize
	runs []*scriptedRun
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	raw    string
}

func (f request) result(text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, f.ID, text)
}

func (f request) fail(code int, data string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Invalid params","data":%s}}`, f.ID, code, data)
}

// missing is the refusal of a field by the server's validator.
func (f request) missing(loc string) string {
	return f.fail(-32602, `{"errors":[{"loc":`+loc+`,"msg":"field required","type":"value_error.missing"}]}`)
}

func (f request) has(field string) bool { return strings.Contains(string(f.Params), `"`+field+`":`) }

func agyInfo(version, caps string) string {
	return `{"protocolVersion":1,"agentCapabilities":{"loadSession":true` + caps + `},"agentInfo":{"name":"antigravity-acp","version":"` + version + `"}}`
}

const offersHTTP = `,"mcpCapabilities":{"http":true,"sse":true}`

// scriptedRun is one process of it.
type scriptedRun struct {
	in       *io.PipeWriter
	out      net.Conn
	theirIn  *io.PipeReader
	theirOut net.Conn
	done     chan struct{}
	once     sync.Once
}

func (a *scripted) start(int) (proxy.Process, error) {
	r := &scriptedRun{done: make(chan struct{})}
	r.theirIn, r.in = io.Pipe()
	r.out, r.theirOut = net.Pipe()
	a.mu.Lock()
	a.runs = append(a.runs, r)
	a.mu.Unlock()
	go func() {
		defer r.quit()
		lines := bufio.NewReaderSize(r.theirIn, 1<<20)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var f request
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				a.t.Errorf("the agent got %q: %v", line, err)
				return
			}
			f.raw = strings.TrimSpace(line)
			if f.Method == "initialize" {
				fmt.Fprintln(r.theirOut, f.result(a.info))
				continue
			}
			a.mu.Lock()
			a.got = append(a.got, f.raw)
			a.mu.Unlock()
			if text := a.reply(a, f); text != "" {
				fmt.Fprintln(r.theirOut, text)
			}
		}
	}()
	return r, nil
}

// Frame and Event make it a tap of its own shim.
func (a *scripted) Frame(*proxy.Frame) {}

func (a *scripted) Event(e *proxy.Event) {
	if e.Kind == "exit" {
		a.exits <- e.Text
	}
}

// sent are the frames that it got.
func (a *scripted) sent() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.got...)
}

func (a *scripted) run(i int) *scriptedRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[i]
}

func (r *scriptedRun) quit() {
	r.once.Do(func() {
		r.theirOut.Close()
		r.theirIn.Close()
		close(r.done)
	})
}

func (r *scriptedRun) Pid() int                        { return os.Getpid() }
func (r *scriptedRun) Stdin() io.WriteCloser           { return r.in }
func (r *scriptedRun) StdinFD() int                    { return -1 }
func (r *scriptedRun) Stdout() proxy.Stdout            { return r.out }
func (r *scriptedRun) Done() <-chan struct{}           { return r.done }
func (r *scriptedRun) Exit() proxy.Exit                { return proxy.Exit{Words: "exited with code 0"} }
func (r *scriptedRun) Terminate()                      { r.quit() }
func (r *scriptedRun) Kill()                           { r.quit() }
func (r *scriptedRun) Release()                        { r.out.Close(); r.in.Close() }
func (r *scriptedRun) SetReadDeadline(time.Time) error { return nil }

// inFront is the client of a shim in front of the scripted agent, past
// initialize.
func (a *scripted) inFront(chain ...proxy.Interceptor) *peer {
	a.t.Helper()
	p := newPeer(a.t)
	a.exits = make(chan string, 16)
	p.run(proxy.Config{
		Options: proxy.Options{Chain: chain, Taps: []proxy.Tap{a}, Nonce: "t", Strict: true, Policy: func(result []byte) proxy.Policy {
			policy, _ := PolicyFor("auto", result)
			for _, x := range chain {
				if rw, ok := x.(interface {
					Policy(string, []byte) proxy.Policy
				}); ok {
					policy = rw.Policy("auto", result)
				}
			}
			return policy
		}},
		Start: a.start,
	})
	p.ask(initialized)
	p.seen = nil
	return p
}

// opens answers what opens a session, and nothing else.
func opens1(f request) string {
	switch f.Method {
	case "session/new":
		return f.result(`{"sessionId":"s1"}`)
	case "session/load", "session/close":
		return f.result(`{}`)
	}
	return ""
}
