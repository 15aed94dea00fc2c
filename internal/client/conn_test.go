package client

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"acp-shim/fixtures/sim"
	"acp-shim/internal/agent"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sim" {
		os.Exit(sim.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "asks" {
		for {
			if _, err := os.Stdout.WriteString(`{"jsonrpc":"2.0","id":1,"method":"x"}` + "\n"); err != nil {
				os.Exit(0)
			}
		}
	}
	if len(os.Args) > 1 && os.Args[1] == "empty" {
		_, _ = os.Stdin.Read(make([]byte, 1))
		_, _ = os.Stdout.WriteString(`{"jsonrpc":"2.0","id":0}` + "\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, opt Options, args ...string) (*Conn, context.Context) {
	t.Helper()
	return startProgram(t, opt, append([]string{"sim"}, args...)...)
}

// startProgram starts one of the test binary's own agents.
func startProgram(t *testing.T, opt Options, args ...string) (*Conn, context.Context) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opt.Spec = agent.Spec{Path: exe, Args: args, RunID: agent.NewRunID(), ExtraEnv: []string{"GEMINI_HOME=" + t.TempDir()}}
	c, err := Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(time.Second) })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return c, ctx
}

func TestConversation(t *testing.T) {
	var seen []Line
	asked := make(chan string, 1)
	c, ctx := start(t, Options{
		Seen: func(l Line) { seen = append(seen, l) },
		Answer: func(method string, _ gjson.Result, id string) (string, bool) {
			asked <- id
			return "", true
		},
	})
	r, err := c.Request("initialize", `{"protocolVersion":1}`).Result(ctx)
	if err != nil || r.Get("agentInfo.name").Str != "antigravity-acp" {
		t.Fatal(r.Raw, err)
	}
	if _, err := c.Request("nothing", "{}").Result(ctx); !strings.Contains(err.Error(), "-32601") {
		t.Error(err)
	}
	r, err = c.RequestID(`"s1"`, "session/new", `{"cwd":"/tmp","mcpServers":[]}`).Result(ctx)
	if err != nil {
		t.Fatal(err)
	}
	from := len(c.Lines(0))
	prompt := c.Request("session/prompt", `{"sessionId":`+r.Get("sessionId").Raw+`,"prompt":[{"type":"text","text":"ask"}]}`)
	c.Respond(<-asked, `"result":{"outcome":{"outcome":"selected","optionId":"deny"}}`)
	if r, err = prompt.Result(ctx); err != nil || r.Get("stopReason").Str != "end_turn" {
		t.Fatal(r.Raw, err)
	}
	if _, err := c.WaitLine(ctx, from, func(l Line) bool { return gjson.GetBytes(l.Bytes, "params.update.status").Str == "failed" }); err != nil {
		t.Error("the tool that was denied:", err)
	}
	exit := c.Close(5 * time.Second)
	if exit.Code != 0 {
		t.Errorf("ended with %s", exit.Words)
	}
	if n := len(c.Lines(0)); n != len(seen) || n < 8 {
		t.Errorf("%d lines, and %d were told", n, len(seen))
	}
}

func TestAnAgentThatEnds(t *testing.T) {
	c, ctx := start(t, Options{})
	c.Request("initialize", `{"protocolVersion":1}`).Wait(ctx)
	r, _ := c.Request("session/new", `{"cwd":"/tmp","mcpServers":[]}`).Result(ctx)
	_, err := c.Request("session/prompt", `{"sessionId":`+r.Get("sessionId").Raw+`,"prompt":[{"type":"text","text":"crash 7"}]}`).Wait(ctx)
	var gone *GoneError
	if !errors.As(err, &gone) || !strings.Contains(gone.Exit, "7") || gone.Before != "it answered session/prompt" {
		t.Fatalf("%v %#v", err, gone)
	}
	if _, err := c.Request("session/list", `{}`).Wait(ctx); err == nil {
		t.Error("an agent that is gone has answered")
	}
	if _, err := c.WaitLine(ctx, 0, func(Line) bool { return false }); !errors.As(err, &gone) {
		t.Error(err)
	}
}

func TestAnAgentThatIsLate(t *testing.T) {
	c, _ := start(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	// A line without an end is no request yet.
	_, err := c.RequestLine("1", "initialize", []byte(`{"jsonrpc":"2.0","id":1,`)).Wait(ctx)
	var late *LateError
	if !errors.As(err, &late) || late.Method != "initialize" {
		t.Error(err)
	}
}
