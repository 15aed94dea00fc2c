package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/fixtures/bridge"
)

// Run plays a client against the simulator, through the real binary, and tells
// what the shim did between them.
func (d demoCmd) Run() error {
	dir := d.Keep
	if dir == "" {
		tmp, err := os.MkdirTemp("", "acp-shim-demo-")
		if err != nil {
			return fmt.Errorf("making a directory for the demo: %w", err)
		}
		dir = tmp
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "gemini"), 0o700); err != nil {
		return fmt.Errorf("making a directory for the demo: %w", err)
	}
	token := rand.Text()
	server, err := bridge.Start(context.Background(), token)
	if err != nil {
		return fmt.Errorf("starting an MCP server on this machine for the demo: %w", err)
	}
	defer server.Close()
	capture := filepath.Join(dir, "capture.jsonl")
	c, err := startDemoClient(dir, d.Build, server.URL, token, capture)
	if err != nil {
		return err
	}
	p := newPainter(stdout)
	p.title("A client, acp-shim, and a simulated Antigravity server, build " + d.Build)
	playErr := d.play(c, p, dir)
	if err := c.stop(); playErr == nil {
		playErr = err
	}
	if playErr != nil {
		return fmt.Errorf("%w; the capture is in %s", playErr, capture)
	}
	if n := len(server.Calls()); n != 1 {
		return fmt.Errorf("the MCP server was called %d times instead of once; the capture is in %s", n, capture)
	}
	if err := showCapture(p, capture); err != nil {
		return err
	}
	p.line("")
	p.line("The whole conversation, secrets replaced, a frame a line:")
	p.line("  " + tilde(capture))
	word := shellWord(tilde(capture))
	if strings.HasPrefix(word, "'") {
		word = shellWord(capture) // a shell knows no ~ in quotes
	}
	p.line("look at it: acp-shim show " + word + ", or acp-shim view " + word)
	return nil
}

// play is the conversation. Each step fails if what it shows did not happen.
func (d demoCmd) play(c *demoClient, p *painter, dir string) error {
	p.step("The client opens a session, as clients do: without the list mcpServers that the agent demands")
	if _, err := c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}}`); err != nil {
		return err
	}
	opened, err := c.call("session/new", `{"cwd":`+quote(dir)+`}`)
	if err != nil {
		return err
	}
	session := quote(opened.Get("sessionId").Str)
	p.said("session "+opened.Get("sessionId").Str, "model "+opened.Get("models.currentModelId").Str)

	p.step("It chooses a model, with a name for the option that the agent does not know")
	if _, err := c.call("session/set_config_option", `{"sessionId":`+session+`,"configOptionId":"model","value":"gemini-3.8-flash-low"}`); err != nil {
		return err
	}
	p.said("accepted")

	prompt := func(text string) (string, error) {
		c.text = ""
		_, err := c.call("session/prompt", `{"sessionId":`+session+`,"prompt":[{"type":"text","text":`+quote(text)+`}]}`)
		return strings.TrimSpace(c.text), err
	}
	p.step("The agent calls a tool of an MCP server that the client never named: the shim injected it, with its secret header")
	answer, err := prompt(`mcp pi-bridge bridge_echo {"text":"injected"}`)
	if err != nil {
		return err
	}
	if !strings.Contains(answer, "ECHO:injected") {
		return fmt.Errorf("the tool was not called: the agent said %q", answer)
	}
	p.said(answer)

	p.step("A turn hangs, and the client cancels it, with an id, which the agent rejects")
	stop, err := c.cancelled(session, "hang")
	if err != nil {
		return err
	}
	if stop != "cancelled" {
		return fmt.Errorf("the cancelled prompt was answered %q", stop)
	}
	p.said("stopReason " + stop)

	p.step("The next prompt finds the conversation and the model as they were")
	config, err := prompt("config")
	if err != nil {
		return err
	}
	history, err := prompt("history")
	if err != nil {
		return err
	}
	if !strings.Contains(config, "model=gemini-3.8-flash-low") || !strings.Contains(history, "turns=") {
		return fmt.Errorf("the session was not restored: the agent said %q and %q", config, history)
	}
	p.said(config, history)
	return nil
}

func quote(s string) string { return string(gjson.AppendJSONString(nil, s)) }
