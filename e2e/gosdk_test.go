//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// The examples of acp-go-sdk. Its client kills the agent without warning when
// it has its answer.

func TestGoExampleClientWithSimulator(t *testing.T) {
	for _, build := range []string{"rc01", "1.3.0"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p, code := w.do(append([]string{exampleClient}, through(simulator(build))...)...)
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			// It prints every chunk on a line of its own.
			text := p.out()
			for _, want := range []string{"Connected to agent (protocol v1)", "Created session: ", "Agent completed"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %q", want, text)
				}
			}
			if !strings.Contains(strings.ReplaceAll(text, "\n", ""), "You said: Hello, agent!") {
				t.Errorf("the answer is not in %q", text)
			}
		})
	}
}

func TestGoExampleClientWithExampleAgent(t *testing.T) {
	for name, flags := range map[string][]string{"none": {"--profile", "none"}, "auto": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.start(append([]string{exampleClient}, through([]string{exampleAgent}, flags...)...))
			p.await("Choose an option: ")
			p.say("1")
			if code := p.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			for _, want := range []string{
				"ACP Go Example Agent", "Reading project files (pending)", "1. Allow this change (allow_once)",
				"Perfect! I've successfully updated the configuration.", "Agent completed",
			} {
				if !strings.Contains(p.out(), want) {
					t.Errorf("no %q in %q", want, p.out())
				}
			}
		})
	}
}
