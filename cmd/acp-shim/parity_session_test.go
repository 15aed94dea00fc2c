//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
)

// connect starts the agent, bare or behind the shim, and says hello as pi does.
func (p *parityRun) connect(flags ...string) *editor {
	p.t.Helper()
	sim := p.sim(p.row.build, append(slices.Clone(p.row.sim), flags...)...)
	var c *editor
	if p.through {
		c = p.start(append([]string{p.shim}, p.row.shim...), append(p.env, "ACP_SHIM_AGENT="+strings.Join(sim, " "))...)
	} else {
		c = p.start(sim, p.env...)
	}
	c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}}`)
	return c
}

func (c *editor) newSession(servers string) (string, error) {
	c.t.Helper()
	r := c.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":%s}`, c.stage.cwd, servers))
	id := r.Get("result.sessionId").Str
	if id == "" {
		return "", fmt.Errorf("session/new: %s", r.Raw)
	}
	return id, nil
}

// session is newSession for rows that do not look at it.
func (c *editor) session() string {
	c.t.Helper()
	id, err := c.newSession("[]")
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

func (c *editor) load(session string) line {
	c.t.Helper()
	return c.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, session, c.stage.cwd))
}

func (c *editor) prompt(session, text string) (id, from int) {
	from = c.count()
	return c.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text)), from
}

// turn plays a turn of a session: what was said in it and its answer. A turn
// that the agent leaves without an answer has none.
func (c *editor) turn(session, text string) (said string, answer line) {
	c.t.Helper()
	id, from := c.prompt(session, text)
	return c.rest(session, id, from)
}

func (c *editor) rest(session string, id, from int) (said string, answer line) {
	c.t.Helper()
	at := c.await(from, "the answer to a prompt", isAnswer(id))
	if at >= 0 {
		answer = c.line(at)
	}
	var mine []line
	for _, l := range c.since(from, at) {
		if l.Get("params.sessionId").Str == session {
			mine = append(mine, l)
		}
	}
	return spoken(mine), answer
}

// expect plays a turn that has to say something.
func (c *editor) expect(session, text, want string) error {
	c.t.Helper()
	said, r := c.turn(session, text)
	if said != want || r.Get("result.stopReason").Str != "end_turn" {
		return fmt.Errorf("%q was answered %q, %s", text, said, r.Raw)
	}
	return nil
}

func restarted(p *parityRun) error {
	c := p.connect()
	a, b := c.session(), c.session()
	c.turn(a, "this is a")
	c.turn(b, "this is b")
	c.turn(a, "this is a too")
	c.closeInput()
	c.wait()
	c = p.connect()
	for _, s := range []struct{ id, want string }{{b, "turns=1 last=this is b"}, {a, "turns=2 last=this is a too"}} {
		if r := c.load(s.id); !r.Get("result").Exists() {
			return fmt.Errorf("load: %s", r.Raw)
		}
		if err := c.expect(s.id, "history", s.want); err != nil {
			return err
		}
	}
	return nil
}

func (c *editor) set(session, option, value string) line {
	c.t.Helper()
	return c.call("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, session, option, value))
}

func modelOnLoaded(p *parityRun) error {
	c := p.connect()
	s := c.session()
	c.turn(s, "before it")
	c.closeInput()
	c.wait()
	c = p.connect()
	c.load(s)
	if r := c.set(s, "model", "gemini-3.8-flash-low"); r.Get(`result.configOptions.#(id=="model").currentValue`).Str != "gemini-3.8-flash-low" {
		return fmt.Errorf("set_config_option: %s", r.Raw)
	}
	return c.expect(s, "config", "model=gemini-3.8-flash-low mode=default")
}

func configKept(p *parityRun) error {
	c := p.connect()
	s := c.session()
	c.set(s, "model", "gemini-3.8-flash-low")
	c.set(s, "mode", "yolo")
	c.turn(s, "before it")
	if p.through {
		id, _ := c.prompt(s, "hang")
		c.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, s))
		c.answerTo(id)
	} else {
		// The seed's way around a cancel that is none: kill, and load.
		_ = c.cmd.Process.Kill()
		c.wait()
		c = p.connect()
		c.load(s)
	}
	return c.expect(s, "config", "model=gemini-3.8-flash-low mode=yolo")
}

func catalog(p *parityRun) error {
	c := p.connect()
	got := c.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, p.cwd))
	want := p.start(p.sim(p.row.build))
	r := want.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, p.cwd))
	for _, path := range []string{"result.models", "result.modes", "result.configOptions"} {
		if got.Get(path).Raw != r.Get(path).Raw || r.Get(path).Raw == "" {
			return fmt.Errorf("%s is %s", path, got.Get(path).Raw)
		}
	}
	return nil
}
