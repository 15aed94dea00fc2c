//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Real clients are given a capture of their own conversation in the place of the
// agent, somewhere else, and must not see a difference.

// replayed is the command of the recorded agent.
func replayed(capture string, flags ...string) []string {
	return append([]string{shim, "replay", capture}, flags...)
}

// said is what a client has said in an order that does not depend on its own
// goroutines: the examples handle at the same time what comes at the same time. The
// Go one prints addresses.
func said(out string) string {
	words := strings.Fields(regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(out, "0x"))
	slices.Sort(words)
	return strings.Join(words, " ")
}

// untilTheEnd keeps the shim from being killed by a client that is done, and its
// capture from losing the last milliseconds.
func untilTheEnd(agent []string) []string {
	return append([]string{"sh", "-c", `"$@"; exit`, "sh"}, agent...)
}

func TestReplayToGoExampleClient(t *testing.T) {
	t.Parallel()
	capture := filepath.Join(t.TempDir(), "capture.jsonl")
	converse := func(agent []string) string {
		w := newWorld(t)
		p := w.start(append([]string{exampleClient}, agent...))
		p.await("Choose an option: ")
		p.say("1")
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(p.out(), "Agent completed") {
			t.Errorf("it said %q", p.out())
		}
		return said(p.out())
	}
	was := converse(untilTheEnd(through([]string{exampleAgent}, "--record", capture)))
	if is := converse(replayed(capture)); is != was {
		t.Errorf("the client said\n%s\nand to the recorded agent\n%s", was, is)
	}
	if is := converse(through(replayed(capture, "--agent-side"))); is != was {
		t.Errorf("the client said\n%s\nand to the recorded agent behind a shim\n%s", was, is)
	}
}

func TestReplayToTSExampleClient(t *testing.T) {
	t.Parallel()
	capture := filepath.Join(t.TempDir(), "capture.jsonl")
	converse := func(agent []string) string {
		w := newWorld(t)
		p := w.tsExampleClient(agent)
		p.await("Choose an option: ")
		p.say("1")
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(p.out(), "Agent completed with: end_turn") {
			t.Errorf("it said %q", p.out())
		}
		return said(p.out())
	}
	was := converse(through(tsExampleAgent(t), "--record", capture))
	if is := converse(replayed(capture)); is != was {
		t.Errorf("the client said\n%s\nand to the recorded agent\n%s", was, is)
	}
}

// TestReplayToTSConnection has turns, a cancel, a permission and a load.
func TestReplayToTSConnection(t *testing.T) {
	for _, build := range []string{"rc01", "1.3.0"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			capture := filepath.Join(t.TempDir(), "capture.jsonl")
			steps := []string{"Reply with exactly: ONE. More.", "cancel:stream 100000 every 20ms", "ask", "load", "Reply with exactly: TWO. More."}
			was := newWorld(t).drive(through(simulator(build), "--record", capture), steps...)
			is := newWorld(t).drive(replayed(capture), steps...)
			if fmt.Sprint(is) != fmt.Sprint(was) || len(was) < len(steps) {
				t.Errorf("told were\n%v\nand of the recorded agent\n%v", was, is)
			}
		})
	}
}

func TestReplayToAcpx(t *testing.T) {
	t.Parallel()
	capture := filepath.Join(t.TempDir(), "capture.jsonl")
	args := []string{"exec", "Reply with exactly: HI. No tools."}
	newWorld(t).expect(through(simulator("1.2.1"), "--record", capture), "HI.", args...)
	newWorld(t).expect(replayed(capture), "HI.", args...)
}

// TestReplayDrivesExampleAgent: the recorded client drives the agent that it was
// recorded with. That recording was cut off by the client's kill; the new one is
// whole, and plays to the client.
func TestReplayDrivesExampleAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	capture, again := filepath.Join(dir, "capture.jsonl"), filepath.Join(dir, "again.jsonl")
	client := func(agent []string) string {
		w := newWorld(t)
		p := w.start(append([]string{exampleClient}, agent...))
		p.await("Choose an option: ")
		p.say("2")
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		return p.out()
	}
	was := client(through([]string{exampleAgent}, "--record", capture))
	p, code := newWorld(t).do(append(replayed(capture, "--as-client", "--record", again, "--"), exampleAgent)...)
	if code != 0 || !strings.Contains(p.out(), "3 of them requests: 3 answered\n") || !strings.Contains(p.out(), ", 1 of them requests\n") {
		t.Errorf("exit code %d, it said\n%s", code, p.text())
	}
	// The agent makes a new session id each time.
	id := regexp.MustCompile(`sess_[0-9a-f]+`)
	is := client(replayed(again))
	if was, is := said(id.ReplaceAllString(was, "sess_")), said(id.ReplaceAllString(is, "sess_")); was != is || !strings.Contains(is, "sess_") {
		t.Errorf("the client said\n%s\nand to the agent that was driven\n%s", was, is)
	}
}

// TestReplayTraffic gives handshakes of real agents to a client that they were not
// recorded with.
func TestReplayTraffic(t *testing.T) {
	files, err := filepath.Glob("../../shared/traffic/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Skip("the recordings are kept beside the repository, and are not there")
	}
	opens := map[string]bool{"amp-acp-0.8.1.jsonl": true, "codex-acp-0.16.0.jsonl": true}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newWorld(t).start(append([]string{exampleClient}, replayed(path, "--lenient")...))
			p.await("Connected to agent (protocol v1)")
			if opens[filepath.Base(file)] {
				p.await("Created session: ")
			}
		})
	}
}
