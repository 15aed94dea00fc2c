package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"acp-shim/fixtures/sim"
	"acp-shim/proxy"
	"acp-shim/record"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "sim":
		os.Exit(sim.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	case os.Getenv("OUTSIDE_MAIN") == "1":
		main()
	}
	os.Exit(m.Run())
}

type frame struct {
	ID     any
	Method string
	Params struct {
		Update struct{ SessionUpdate string }
	}
	Result struct {
		SessionID, StopReason, Hello string
		Meta                         struct{ Outside bool } `json:"_meta"`
	}
	Error json.RawMessage
}

// talk is a client that sends one frame after the other, each when the last
// was answered.
type talk struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func (c *talk) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) until(wanted func(frame) bool) frame {
	c.t.Helper()
	for {
		text, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			c.t.Fatalf("%q: %v", text, err)
		}
		if wanted(f) {
			return f
		}
	}
}

func (c *talk) call(id string, rest string) frame {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"` + id + `",` + rest + `}`)
	return c.until(func(f frame) bool { return f.ID == id && f.Method == "" })
}

func TestOutside(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	capture := filepath.Join(home, "capture.jsonl")
	cmd := exec.Command(exe, capture, exe, "sim", "--build", "rc01")
	cmd.Env = append(os.Environ(), "OUTSIDE_MAIN=1", "HOME="+home, "GEMINI_HOME="+home, "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // gone already, if all went well
	c := &talk{t, stdin, bufio.NewReader(stdout)}

	c.call("hello", `"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}`)
	id := c.call("new", `"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}`).Result.SessionID
	if f := c.call("greet", `"method":"_outside/greet","params":{}`); f.Result.Hello != "from outside" {
		t.Errorf("its own method gave %+v", f)
	}
	prompt := func(text string) string {
		return `"method":"session/prompt","params":{"sessionId":"` + id + `","prompt":[{"type":"text","text":"` + text + `"}]}`
	}
	if f := c.call("ask", prompt("ask 1ms")); f.Result.StopReason != "end_turn" || !f.Result.Meta.Outside {
		t.Errorf("a turn with a permission in it ended %+v", f)
	}
	c.send(`{"jsonrpc":"2.0","id":"long",` + prompt("stream 100000 every 2ms") + `}`)
	c.until(func(f frame) bool { return f.Params.Update.SessionUpdate == "agent_message_chunk" })
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
	if f := c.until(func(f frame) bool { return f.ID == "long" }); f.Result.StopReason != "cancelled" {
		t.Errorf("a cancelled turn ended %+v", f)
	}
	if f := c.call("after", prompt("history")); f.Result.StopReason != "end_turn" {
		t.Errorf("the turn after it ended %+v", f)
	}
	stdin.Close()
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	read(t, capture)
}

// read finds in the capture what the test has seen happen.
func read(t *testing.T, path string) {
	t.Helper()
	capture, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	if h := capture.Header; h == nil || h.Shim != "outside" {
		t.Errorf("the header is %+v", h)
	}
	seen := map[string]bool{}
	for e, err := range capture.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.IsFrame() && e.From == proxy.AgentPeer(1) && e.To == proxy.Client && len(e.Edits) > 0:
			sent, received := string(e.Sent()), string(e.Received())
			seen["marked"] = strings.Contains(sent, `"_meta":{"outside":true}`) && !strings.Contains(received, "outside")
		case e.IsFrame() && e.From == proxy.Shim && strings.Contains(string(e.Sent()), "from outside"):
			seen["greeted"] = true
		case e.Event != "":
			seen[e.Event] = true
		}
	}
	for _, want := range []string{"marked", "greeted", "spawn", "cancel", "restore", "exit", "end"} {
		if !seen[want] {
			t.Errorf("the capture has no %q: %v", want, seen)
		}
	}
}
