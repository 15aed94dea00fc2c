package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// demoClient is a client that knows as little as it can: it writes lines and
// reads lines.
type demoClient struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr strings.Builder
	id     int
	text   string // what the agent has said since it was emptied
}

// demoPatience is how long a step may take. The slowest waits a second for a
// cancel that is ignored.
const demoPatience = 20 * time.Second

func startDemoClient(dir, build, url, token, capture string) (*demoClient, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &demoClient{lines: make(chan string, 4096)}
	c.cmd = exec.Command(exe, "run", "--bridge="+url, "--bridge-token=env:DEMO_BRIDGE_TOKEN", "--record="+capture,
		"--", exe, "sim", "--build", build)
	// Nothing of the user's own set-up takes part.
	c.cmd.Env = append(os.Environ(), "DEMO_BRIDGE_TOKEN="+token, "GEMINI_HOME="+filepath.Join(dir, "gemini"),
		"ACP_SHIM_STATE_DIR="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "ACP_SHIM_") && name != "ACP_SHIM_STATE_DIR" && name != "ACP_SHIM_TEST_MAIN" {
			c.cmd.Env = append(c.cmd.Env, name+"=")
		}
	}
	c.cmd.Stderr = &c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the shim: %w", err)
	}
	go func() {
		defer close(c.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	return c, nil
}

func (c *demoClient) send(method, params string) string {
	c.id++
	id := strconv.Itoa(c.id)
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	return id
}

// call sends a request and reads on to its answer.
func (c *demoClient) call(method, params string) (gjson.Result, error) {
	return c.answer(method, c.send(method, params))
}

func (c *demoClient) answer(method, id string) (gjson.Result, error) {
	limit := time.NewTimer(demoPatience)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return gjson.Result{}, fmt.Errorf("the shim ended before it answered %s: %s", method, c.stderr.String())
			}
			m := gjson.Parse(line)
			if m.Get("method").Exists() {
				c.take(m)
				continue
			}
			if m.Get("id").Raw != id {
				continue
			}
			if e := m.Get("error"); e.Exists() {
				return m, fmt.Errorf("%s was answered with the error %s", method, e.Raw)
			}
			return m.Get("result"), nil
		case <-limit.C:
			return gjson.Result{}, fmt.Errorf("%s was not answered within %v", method, demoPatience)
		}
	}
}

func (c *demoClient) take(m gjson.Result) {
	if u := m.Get("params.update"); u.Get("sessionUpdate").Str == "agent_message_chunk" {
		c.text += u.Get("content.text").Str
	}
}

// cancelled sends a prompt and then cancels it, with an id, and returns the
// prompt's stop reason.
func (c *demoClient) cancelled(session, text string) (string, error) {
	prompt := c.send("session/prompt", `{"sessionId":`+session+`,"prompt":[{"type":"text","text":`+quote(text)+`}]}`)
	cancel := c.send("session/cancel", `{"sessionId":`+session+`}`)
	r, err := c.answer("session/prompt", prompt)
	if err != nil {
		return "", err
	}
	if _, err := c.answer("session/cancel", cancel); err != nil {
		return "", err
	}
	return r.Get("stopReason").Str, nil
}

// stop ends the client's output, as a client that is done, and waits.
func (c *demoClient) stop() error {
	c.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the shim ended with %w: %s", err, c.stderr.String())
		}
		return nil
	case <-time.After(demoPatience):
		c.cmd.Process.Kill()
		<-ended
		return errors.New("the shim did not end with its input")
	}
}
