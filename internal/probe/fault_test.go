package probe

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFaults has for each gate an agent that it does not pass.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := func(args ...string) []string { return append([]string{"sim"}, args...) }
	f := func(mode string) []string { return []string{"fake", mode} }
	a := func(answers ...string) []string { return append([]string{"fake", "plain"}, answers...) }
	const (
		twoModels = `"result":{"sessionId":"one","configOptions":[{"id":"model","category":"model","type":"select","currentValue":"a","options":[{"value":"a"},{"value":"b"}]}]}`
		twoModes  = `"result":{"sessionId":"one","modes":{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"b"}]}}`
		loader    = `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}},"mcpCapabilities":{"http":true},"promptCapabilities":{"image":true}}}`
	)
	tryFaults(t, []faultCase{
		{name: "no handshake", agent: f("refuses"), gate: "hello", verdict: Fail, figure: "-32603 not today"},
		{name: "poor handshake", agent: f("plain"), gate: "hello", verdict: Fallback, figure: "lacks agentCapabilities, authMethods"},
		{name: "login", agent: s("--login", "none"), gate: "session", verdict: NotRun, figure: "the agent needs a login: Authentication required"},
		{name: "login behind", agent: s("--login", "none"), gate: "A", verdict: NotRun, figure: "the agent needs a login"},
		{name: "login, empty home", agent: s("--login", "none"), gate: "auth.none", verdict: Pass, figure: "refused: -32000"},
		{name: "no harness", agent: s("--no-harness"), gate: "session", verdict: Fail, figure: "localharness_external not found"},
		{name: "no harness behind", agent: s("--no-harness"), gate: "F", verdict: NotRun, figure: "no session can be opened: refused: -32603"},
		{name: "no choice", agent: f("plain"), gate: "A", verdict: NotRun, figure: "offers no models and no modes"},
		{name: "other names taken", agent: f("accepts"), gate: "names", verdict: Fallback, figure: "taken as they are: authenticate without methodId"},
		{name: "unknown method taken", agent: f("accepts"), gate: "errors", verdict: Fail, figure: "as if it were known"},
		{name: "no tool", agent: f("plain"), gate: "C", verdict: Fallback, figure: "no tool call was shown"},
		{name: "tool without an end", agent: f("open-tool"), gate: "C.states", verdict: Fail, figure: "2 never end"},
		{name: "late chunk", agent: f("late"), gate: "stream", verdict: Fail, figure: "behind the prompt's answer"},
		{name: "repeated text", agent: f("repeats"), gate: "stream", verdict: Fallback, figure: "repeat all text so far"},
		{name: "other text", agent: f("plain"), gate: "stream", verdict: Fallback, figure: "Whatever you say."},
		{name: "cancel ignored", agent: s("--build", "1.3.0", "--cancel", "ignore"), gate: "D", verdict: Fallback, figure: "the turn goes on 1.5s after the cancel; kill and session/load works"},
		{name: "cancel ignored, load broken", agent: s("--cancel", "ignore", "--checkpoint"), gate: "D", verdict: Fail, figure: "could not find doneCh"},
		{name: "load broken", agent: s("--checkpoint"), gate: "D.load", verdict: Fail, figure: "session/load was refused"},
		{name: "load panics", agent: s("--checkpoint", "--bricked", "load-panic"), gate: "D.load", verdict: Fail, figure: "exited with code 2 before it answered session/load"},
		{name: "cancel as an error", agent: s("--cancel", "error"), gate: "D", verdict: Fallback, figure: "-32000 context canceled; the session goes on"},
		{name: "cancel late", agent: s("--cancel", "late=2200ms"), gate: "D", verdict: Fallback, figure: "cancelled only after 2.", set: func(o *Options) { o.Cancel = 5 * time.Second }},
		{name: "cancel kills", agent: s("--cancel", "die"), gate: "D", verdict: Fallback, figure: "the agent exited with code 1 when it was cancelled"},
		{name: "cancel wedges", agent: s("--cancel", "wedge"), gate: "D", verdict: Fallback, figure: "goes on 1.5s after"},
		{name: "cancel races", agent: s("--cancel", "race"), gate: "D", verdict: Fallback, figure: `ended with "end_turn"`},
		{name: "nothing to cancel", agent: f("open-tool"), gate: "D", verdict: Fail, figure: "the turn was over, or said nothing, before there was text to cancel"},
		{name: "cancel while asked", agent: s("--build", "1.3.0", "--cancel", "ignore"), gate: "permission.cancel", verdict: Fail, figure: `ended with "end_turn"`},
		{name: "slow start", agent: f("slow-once"), gate: "E", verdict: Fallback, figure: "start a process for a group of turns"},
		{name: "no MCP", agent: f("plain"), gate: "F", verdict: NotRun, figure: "does not offer mcpCapabilities.http"},
		{name: "MCP server not asked", agent: f("plain"), gate: "F.stdio", verdict: Fail, figure: "the server was never asked anything"},
		{name: "no load", agent: f("plain"), gate: "load", verdict: NotRun, figure: "does not offer session/load"},
		{name: "not asked", agent: f("plain"), gate: "permission", verdict: Fallback, figure: "without a request for permission"},
		{name: "asks for files", agent: f("noisy"), gate: "client.none", verdict: Fail, figure: "fs/read_text_file"},
		{name: "noise", agent: f("noisy"), gate: "stdout", verdict: Fallback, figure: "line of noise"},
		{name: "image not seen", agent: f("plain"), gate: "prompt.image", verdict: NotRun, figure: "does not offer promptCapabilities.image"},
		{name: "spoiled ids", agent: f("spoils-ids"), gate: "ids", verdict: Fallback, figure: "above 2^53 → 9.007199254740992e+15"},
		{name: "short lines", agent: s("--line-limit", "65536"), gate: "lines", verdict: Fail, figure: "a line of 100 KiB is too long: the agent exited with code 1"},
		{name: "lines of some length", agent: s("--line-limit", "2000000"), gate: "lines", verdict: Fallback, figure: "lines up to 1 MiB are read"},
		{name: "deaf to the end", agent: s("--eof", "ignore"), gate: "eof", verdict: Fallback, figure: "SIGTERM must follow", set: func(o *Options) { o.Timeout = 2 * time.Second }},
		{name: "late end", agent: s("--eof", "late=2300ms"), gate: "eof", verdict: Fallback, figure: "exited with code 0 after 2."},
		{name: "bad end", agent: f("sulks"), gate: "eof", verdict: Fallback, figure: "exited with code 4"},
		{name: "child behind", agent: f("orphan"), gate: "eof", verdict: Fail, figure: "left behind: "},
		{name: "quick SIGTERM", agent: s("--linger", "0s"), gate: "term", verdict: Pass, figure: "with a trace on stderr"},
		{name: "dies in each", agent: f("dies-later"), gate: "ids", verdict: Fail, figure: "exited with code 9"},
		{name: "version refused", agent: f("picky"), gate: "version", verdict: Fail, figure: "version 99 is refused"},
		{name: "auth method without an id", agent: a("initialize", `"result":{"protocolVersion":1,"authMethods":[{"name":"x"}]}`), gate: "auth", verdict: Fail, figure: "has no id or no name"},
		{name: "no session, other code", agent: a("session/new", `"error":{"code":-32603,"message":"no"}`), gate: "auth.none", verdict: Fail, figure: "another code than -32000"},
		{name: "no session id", agent: a("session/new", `"result":{}`), gate: "session", verdict: Fail, figure: "no sessionId"},
		{name: "model not switched", agent: a("session/new", twoModels, "session/set_config_option", twoModels), gate: "A", verdict: Fail, figure: `the model is "a" instead of "b"`},
		{name: "model not to be switched", agent: a("session/new", twoModels), gate: "A", verdict: Fail, figure: "cannot be chosen by session/set_config_option: -32601"},
		{name: "mode refused", agent: a("session/new", twoModes), gate: "A.set_mode", verdict: Fail, figure: "session/set_mode is refused"},
		{name: "list without a cwd", agent: a("session/list", `"result":{"sessions":[{"sessionId":"x"}]}`), gate: "list", verdict: Fail, figure: "without its sessionId or cwd"},
		{name: "list of nothing", agent: a("session/list", `"result":{"sessions":null}`), gate: "list", verdict: Fail, figure: "no list of sessions"},
		{name: "list without a session", agent: a("session/list", `"result":{"sessions":[]}`), gate: "list", verdict: Fail, figure: "a session with a turn is not listed"},
		{name: "close refused", agent: a("session/close", `"error":{"code":-32603,"message":"no"}`), gate: "close", verdict: Fail, figure: "refused: -32603 no"},
		{name: "closed and still there", agent: a("session/new", twoModes, "session/close", `"result":{}`, "session/set_mode", `"result":{}`), gate: "close", verdict: Fallback, figure: "can still be used"},
		{name: "forked", agent: a("session/fork", `"result":{"sessionId":"fork"}`), gate: "fork", verdict: Pass, figure: "an id of its own"},
		{name: "deleted and still there", agent: a("session/new", `"result":{"sessionId":"one"}`, "session/delete", `"result":{}`, "session/list", `"result":{"sessions":[{"sessionId":"one","cwd":"/"}]}`),
			gate: "delete", verdict: Fail, figure: "still listed"},
		{name: "load refused", agent: a("initialize", loader, "session/load", `"error":{"code":-32603,"message":"no"}`), gate: "load", verdict: Fail, figure: "refused: -32603 no"},
		{name: "load without history", agent: a("initialize", loader, "session/load", `"result":{}`), gate: "load", verdict: Fail, figure: "nothing is loaded: of the history 0 of 4 messages came"},
		{name: "resume without history", agent: a("initialize", loader, "session/resume", `"result":{}`), gate: "resume", verdict: Fail, figure: "does not know what came before"},
		{name: "resume refused", agent: a("initialize", loader), gate: "resume", verdict: Fail, figure: "refused: -32601"},
		{name: "odd kind", agent: f("odd-kind"), gate: "permission", verdict: Fail, figure: `ACP has no kind "perhaps"`},
		{name: "no options", agent: f("no-options"), gate: "permission", verdict: Fail, figure: "has no options"},
		{name: "disobeys", agent: f("disobeys"), gate: "permission.deny", verdict: Fail, figure: "was done all the same"},
		{name: "one at a time", agent: f("serial"), gate: "parallel", verdict: Fail, figure: "does not end while the first one waits"},
		{name: "relative path", agent: f("relative"), gate: "client.fs", verdict: Fail, figure: "PROBE-READ.txt is not absolute"},
		{name: "terminal kept", agent: f("keeps-terminal"), gate: "client.terminal", verdict: Fail, figure: "not released"},
		{name: "terminal for another command", agent: f("other-command"), gate: "client.terminal", verdict: Pass, figure: "asked for: terminal/create"},
		{name: "MCP entry refused", agent: []string{"fake", "no-mcp", "initialize", loader}, gate: "F", verdict: Fail, figure: "the entry is refused: -32603 no servers here"},
		{name: "dead MCP server refused", agent: []string{"fake", "no-mcp", "initialize", loader}, gate: "F.dead", verdict: Fallback, figure: "see that a server is there"},
		{name: "MCP tool not called", agent: a("initialize", loader), gate: "F.image", verdict: Fail, figure: "the tool was not called"},
		{name: "blind", agent: a("initialize", loader), gate: "prompt.image", verdict: Fail, figure: `has no "red" in it: "Whatever you say."`},
		{name: "dies of a blank line", agent: f("strict"), gate: "malformed", verdict: Fail, figure: "blank: the agent ends"},
		{name: "no strings for ids", agent: f("numbers-only"), gate: "ids", verdict: Fail, figure: "no answer to: string"},
		{name: "floods", agent: f("floods"), gate: "session", verdict: Fail, figure: "has said more than 64 MiB"},
	})
}

// faultCase is an agent that does something wrong, and what becomes of a gate then.
type faultCase struct {
	name    string
	agent   []string
	gate    string
	verdict Verdict
	figure  string
	set     func(*Options)
}

// tryFaults has them probed. Most of the time is spent in waiting, so that more are
// tried at a time than there are processors.
func tryFaults(t *testing.T, cases []faultCase) {
	type outcome struct {
		r   *Report
		err error
	}
	outcomes := make([]outcome, len(cases))
	slots := make(chan struct{}, 6)
	var all sync.WaitGroup
	for i, c := range cases {
		opt := options(t, c.agent...)
		opt.Gates = []string{c.gate}
		if c.set != nil {
			c.set(&opt)
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			outcomes[i].r, outcomes[i].err = Run(context.Background(), opt)
		})
	}
	all.Wait()
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if outcomes[i].err != nil {
				t.Fatal(outcomes[i].err)
			}
			g := outcomes[i].r.Gate(c.gate)
			if g.Verdict != c.verdict || !strings.Contains(g.Figure, c.figure) {
				t.Errorf("%s: %s %q (%s), want %s with %q", c.gate, g.Verdict, g.Figure, g.Why, c.verdict, c.figure)
			}
			if strings.ContainsAny(g.Figure, "\n\x1b") {
				t.Errorf("%q has a control character", g.Figure)
			}
		})
	}
}

// TestAgentsThatCannotBeAsked end with one clear line.
func TestAgentsThatCannotBeAsked(t *testing.T) {
	for mode, want := range map[string]string{
		"silent":  "ms; it wrote nothing at all; is it an ACP agent",
		"garbage": "it wrote 2 lines that are no JSON-RPC, the first \"Welcome!",
		"dies":    "the agent exited with code 3 before it answered initialize; its stderr ends with \"error while loading shared libraries: libnone.so\"",
		"sleeper": "did not answer initialize within 3",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			opt := options(t, "fake", mode)
			if opt.Timeout = 300 * time.Millisecond; mode == "dies" {
				opt.Timeout = 10 * time.Second
			}
			_, err := Run(context.Background(), opt)
			var start *StartError
			if !errors.As(err, &start) || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	opt := options(t)
	opt.Path = "/does/not/exist"
	var start *StartError
	if _, err := Run(context.Background(), opt); !errors.As(err, &start) {
		t.Error(err)
	}
}

// TestChildBehindSIGTERM has a child that a signal to the agent's group and session
// does not reach.
func TestChildBehindSIGTERM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("a session of its own needs the program setsid here")
	}
	opt := options(t, "fake", "orphan-session")
	opt.Gates = []string{"term"}
	if g := probed(t, opt).Gate("term"); g.Verdict != Fail || !strings.Contains(g.Figure, "left behind: ") {
		t.Errorf("%s %q", g.Verdict, g.Figure)
	}
}

// TestMuteAgent does not hold up the gates by more than a few patiences.
func TestMuteAgent(t *testing.T) {
	t.Parallel()
	opt := options(t, "fake", "mute")
	opt.Timeout = 200 * time.Millisecond
	r := probed(t, opt)
	n := r.Counts()
	if n[Fail] < 5 || n[NotRun] < 30 {
		t.Errorf("%v", n)
	}
	if g := r.Gate("A"); g.Why != WhySession || !strings.Contains(g.Figure, "did not answer session/new") {
		t.Errorf("%+v", g)
	}
}

// TestInterrupt leaves nothing behind, and says what was not tried.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	opt := simulated(t)
	ctx, cancel := context.WithCancel(context.Background())
	opt.Jobs = 1
	opt.Done = func(r *Result, _, _ int) {
		if r.ID == "C" {
			cancel()
		}
	}
	r, err := Run(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Gate("D"); g.Verdict != NotRun || g.Why != WhyInterrupted {
		t.Errorf("%+v", g)
	}
	if g := r.Gate("C"); g.Verdict != Pass {
		t.Errorf("%+v", g)
	}
	if len(r.Left) > 0 {
		t.Errorf("conversations are left: %v", r.Left)
	}
	// One that is interrupted in a wait.
	opt = options(t, "fake", "silent")
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Run(ctx, opt); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}
