package probe

import (
	"context"
	"errors"
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
	cases := []struct {
		name    string
		agent   []string
		gate    string
		verdict Verdict
		figure  string
		set     func(*Options)
	}{
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
		{name: "cancel ignored", agent: s("--build", "1.3.0", "--cancel", "ignore"), gate: "D", verdict: Fallback, figure: "the turn goes on 700ms after the cancel; kill and session/load works"},
		{name: "cancel ignored, load broken", agent: s("--cancel", "ignore", "--checkpoint"), gate: "D", verdict: Fail, figure: "could not find doneCh"},
		{name: "load broken", agent: s("--checkpoint"), gate: "D.load", verdict: Fail, figure: "session/load was refused"},
		{name: "load panics", agent: s("--checkpoint", "--bricked", "load-panic"), gate: "D.load", verdict: Fail, figure: "exited with code 2 before it answered session/load"},
		{name: "cancel as an error", agent: s("--cancel", "error"), gate: "D", verdict: Fallback, figure: "-32000 context canceled; the session goes on"},
		{name: "cancel late", agent: s("--cancel", "late=2200ms"), gate: "D", verdict: Fallback, figure: "cancelled only after 2.", set: func(o *Options) { o.Cancel = 5 * time.Second }},
		{name: "cancel kills", agent: s("--cancel", "die"), gate: "D", verdict: Fallback, figure: "the agent exited with code 1 when it was cancelled"},
		{name: "cancel wedges", agent: s("--cancel", "wedge"), gate: "D", verdict: Fallback, figure: "goes on 700ms after"},
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
		{name: "floods", agent: f("floods"), gate: "session", verdict: Fail, figure: "has said more than 64 MiB"},
	}
	// Most of the time is spent in waiting, so that more are tried at a time than
	// there are processors.
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
			g := outcomes[i].r.gate(c.gate)
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
	if g := r.gate("A"); g.Why != WhySession || !strings.Contains(g.Figure, "did not answer session/new") {
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
	if g := r.gate("D"); g.Verdict != NotRun || g.Why != WhyInterrupted {
		t.Errorf("%+v", g)
	}
	if g := r.gate("C"); g.Verdict != Pass {
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
