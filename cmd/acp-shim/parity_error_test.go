//go:build unix

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

func missingAgent(p *parityRun) error {
	const path = "/no/such/agy_acp_server.par"
	return p.refused([]string{path}, []string{"ACP_SHIM_AGENT=" + path}, path, "ACP_SHIM_AGENT", "there is no directory /no/such")
}

func noAgent(p *parityRun) error {
	const name = "agy_acp_server.par"
	return p.refused([]string{name}, []string{"PATH=/usr/bin"}, name, "--agent", ".local/opt/agy-acp/current", ".local/bin")
}

// refused is what becomes of an agent that is not there. Without the shim a
// client has to find its own words for that.
func (p *parityRun) refused(bare, env []string, words ...string) error {
	if !p.through {
		return exec.Command(bare[0]).Run()
	}
	c := p.start([]string{p.shim}, env...)
	r := c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	for _, w := range words {
		if !strings.Contains(r.Get("error.message").Str, w) || r.Get("error.code").Int() == -32000 {
			return fmt.Errorf("no %q in %s", w, r.Raw)
		}
	}
	return nil
}

func loginMissing(p *parityRun) error {
	c := p.connect()
	r := c.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, p.cwd))
	if r.Get("error.code").Int() != -32000 || !strings.HasPrefix(r.Get("error.data.message").Str, "No authentication method selected. Either call the `authenticate` method") {
		return fmt.Errorf("session/new was answered %s", r.Raw)
	}
	return nil
}

func protocolError(p *parityRun) error {
	c := p.connect()
	r := c.call("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"no-such-model"}`, c.session()))
	if want := `{"code":-32602,"message":"Invalid params","data":{"errors":[{"loc":["value"],"msg":"unknown value","type":"value_error"}]}}`; r.Get("error").Raw != want {
		return fmt.Errorf("it was answered %s", r.Raw)
	}
	return nil
}

func crashVisible(p *parityRun) error {
	c := p.connect()
	s := c.session()
	c.turn(s, "before it")
	_, r := c.turn(s, "crash 7")
	if !r.Exists() {
		return errors.New("no answer to the prompt: the output ends")
	}
	for _, want := range []string{"exit code 7", "crash: exit code 7"} {
		if !strings.Contains(r.Get("error.message").Str, want) {
			return fmt.Errorf("no %q in %s", want, r.Raw)
		}
	}
	if code := r.Get("error.code").Int(); code == -32000 {
		return fmt.Errorf("the code is %d", code)
	}
	return c.expect(s, "history", "turns=1 last=before it")
}

func killedClient(p *parityRun) error {
	if !haveProc() {
		p.t.Skip("there is no table of processes to look into")
	}
	c := p.connect()
	_, from := c.prompt(c.session(), "command 60s")
	c.must(from, "the tool", inProgress)
	c.awaitErr("started tool")
	// As Zed does it: the one process, without warning.
	if err := c.cmd.Process.Kill(); err != nil {
		return err
	}
	c.wait()
	for _, what := range p.gone(slowly(time.Second)) {
		return fmt.Errorf("a second later %s still runs", what)
	}
	return nil
}

func (c *editor) marked(session, text, want string) error {
	c.t.Helper()
	said, r := c.turn(session, text)
	if r.Get("result.stopReason").Str != "end_turn" {
		return fmt.Errorf("it was answered %q, %s", said, r.Raw)
	}
	if got := r.Get("result._meta.acp-shim.failed").Str; got != want {
		return fmt.Errorf("nothing tells %q, %s from a good turn", said, strings.TrimSpace(r.Raw))
	}
	return nil
}

func failedTurn(p *parityRun) error {
	c := p.connect()
	return c.marked(c.session(), "error out of quota", "agent-error")
}

func blankTurn(p *parityRun) error {
	c := p.connect()
	return c.marked(c.session(), "blank", "blank")
}

func leak(p *parityRun) error {
	c := p.connect()
	return c.expect(c.session(), "leak", "Some text before it. ")
}

func noNoise(p *parityRun) error {
	c := p.connect()
	c.turn(c.session(), "noise")
	for _, l := range c.since(0, -1) {
		if !gjson.Valid(l.Raw) {
			return fmt.Errorf("a line is no protocol: %q", l.Raw)
		}
	}
	return nil
}

func permissionOnce(p *parityRun) error {
	c := p.connect()
	_, r := c.turn(c.session(), "ask")
	for _, l := range c.since(0, -1) {
		if o := l.Get("params.options"); o.Exists() {
			if o.Get("0.kind").Str != "allow_once" {
				return fmt.Errorf("the first option is %s", o.Get("0").Raw)
			}
			return nil
		}
	}
	return fmt.Errorf("nothing was asked, %s", r.Raw)
}
