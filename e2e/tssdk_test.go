//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The TypeScript SDK: its example agent, its example client, and a client of
// ours on its connection.

func module(t *testing.T, path ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"node_modules"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tsExample(t *testing.T, name string) string {
	t.Helper()
	return module(t, "@agentclientprotocol", "sdk", "dist", "examples", name)
}

func tsExampleAgent(t *testing.T) []string {
	t.Helper()
	return []string{node, tsExample(t, "agent.js")}
}

// tsExampleClient starts the example client, which starts "npx tsx agent.ts":
// an npx of ours, first on its path, starts the agent instead.
func (w *world) tsExampleClient(agent []string) *program {
	w.t.Helper()
	bin := filepath.Join(w.home, "bin")
	var words []string
	for _, word := range agent {
		words = append(words, "'"+word+"'")
	}
	for _, err := range []error{
		os.Mkdir(bin, 0o755),
		os.WriteFile(filepath.Join(bin, "npx"), []byte("#!/bin/sh\nexec "+strings.Join(words, " ")+"\n"), 0o755),
	} {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.env[0] = strings.Replace(w.env[0], "PATH=", "PATH="+bin+":", 1)
	return w.start([]string{node, tsExample(w.t, "client.js")})
}

func TestTSExampleClientWithSimulator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tsExampleClient(through(simulator("1.2.1")))
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	text := strings.ReplaceAll(p.out(), "\n", "")
	for _, want := range []string{"Connected to agent (protocol v1)", "You said: Hello, agent!", "Agent completed with: end_turn"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, p.out())
		}
	}
}

func TestTSExampleClientWithExampleAgent(t *testing.T) {
	for name, flags := range map[string][]string{"none": {"--profile", "none"}, "auto": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.tsExampleClient(through(tsExampleAgent(t), flags...))
			p.await("Choose an option: ")
			p.say("2")
			if code := p.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			for _, want := range []string{"Reading project files", "2. Skip this change (reject_once)", "I understand you prefer not to make that change.", "Agent completed with: end_turn"} {
				if !strings.Contains(p.out(), want) {
					t.Errorf("no %q in %q", want, p.out())
				}
			}
		})
	}
}

// drive runs our client and gives the lines that it told.
func (w *world) drive(agent []string, steps ...string) []map[string]any {
	w.t.Helper()
	driver, err := filepath.Abs("testdata/driver.mjs")
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := json.Marshal(steps)
	if err != nil {
		w.t.Fatal(err)
	}
	w.env = append(w.env, "DRIVER_STEPS="+string(b))
	p, code := w.do(append([]string{node, driver}, agent...)...)
	if code != 0 {
		w.t.Fatalf("exit code %d", code)
	}
	var told []map[string]any
	for line := range strings.Lines(p.out()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		told = append(told, m)
	}
	return told
}

func TestTSConnectionWithSimulator(t *testing.T) {
	for build, version := range map[string]string{"rc01": "agy_acp_server_20260818_01_RC01", "1.3.0": "1.3.0"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			told := w.drive(through(simulator(build)), "Reply with exactly: ONE. More.", "cancel:stream 100000 every 20ms", "ask", "load", "Reply with exactly: TWO. More.")
			want := []string{
				`{"agent":"` + version + `"}`,
				`{"turn":{"said":"ONE.","stopReason":"end_turn","tools":0}}`,
				`{"turn":{"said":"","stopReason":"cancelled","tools":0}}`,
				`{"asked":"allow_once"}`,
				`{"turn":{"said":"The command was allowed.","stopReason":"end_turn","tools":1}}`,
				`{"history":"Reply with exactly: ONE. More.`,
				`{"turn":{"said":"TWO.","stopReason":"end_turn","tools":0}}`,
				`{"exit":0}`,
			}
			if len(told) != len(want) {
				t.Fatalf("told were %v", told)
			}
			for i, m := range told {
				b, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(string(b), want[i]) {
					t.Errorf("line %d is %s, want %s", i, b, want[i])
				}
			}
		})
	}
}

// TestTSConnectionWithExampleAgent cancels what the agent can stop by itself,
// which it does at its next step.
func TestTSConnectionWithExampleAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	told := w.drive(through(tsExampleAgent(t), "--profile", "none"), "cancel:stop this one")
	if got, want := fmt.Sprint(told), "[map[agent:none] map[turn:map[said: stopReason:cancelled tools:0]] map[exit:0]]"; got != want {
		t.Errorf("told were %s, want %s", got, want)
	}
}
