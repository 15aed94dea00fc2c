//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gateResult is what the test needs of a report of acp-shim probe --json.
type gateResult struct {
	ID, Verdict, Figure string
	Proofs              []struct{ Seq int }
}

// gates probes an agent.
func (w *world) gates(agent []string, flags ...string) map[string]gateResult {
	w.t.Helper()
	capture := filepath.Join(w.home, "probe.jsonl")
	argv := append([]string{shim, "probe", "--json", "--capture", capture, "--jobs", "4"}, flags...)
	p, code := w.do(append(append(argv, "--"), agent...)...)
	var report struct{ Gates []gateResult }
	if err := json.Unmarshal([]byte(p.out()), &report); err != nil {
		w.t.Fatalf("exit code %d, %v: %s", code, err, p.text())
	}
	all := map[string]gateResult{}
	failed := false
	for _, g := range report.Gates {
		all[g.ID] = g
		failed = failed || g.Verdict == "FAIL"
		w.t.Logf("%-18s %-8s %s", g.ID, g.Verdict, g.Figure)
	}
	if (code == 1) != failed {
		w.t.Errorf("exit code %d, and something fails: %v", code, failed)
	}
	if info, err := os.Stat(capture); err != nil || info.Size() < 1000 {
		w.t.Errorf("the capture: %v", err)
	}
	return all
}

// verdicts compares what was found with lines of: gate verdict, and a part of the
// figure.
func verdicts(t *testing.T, got map[string]gateResult, want string) {
	t.Helper()
	for line := range strings.Lines(want) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		g := got[f[0]]
		if g.Verdict != f[1] || !strings.Contains(g.Figure, strings.Join(f[2:], " ")) {
			t.Errorf("%s: %s %q, want %s", f[0], g.Verdict, g.Figure, line)
		}
	}
}

func TestProbeGoExampleAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.gates([]string{exampleAgent}, "--live", "--cancel-wait", "3s",
		"--gate", "hello", "--gate", "session", "--gate", "A", "--gate", "D", "--gate", "load", "--gate", "permission", "--gate", "errors", "--gate", "ids",
		"--gate", "lines", "--gate", "malformed", "--gate", "eof", "--gate", "term", "--gate", "F.stdio")
	verdicts(t, got, goExampleVerdicts)
}

func TestProbeTSExampleAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.gates(tsExampleAgent(t), "--live", "--cancel-wait", "3s",
		"--gate", "hello", "--gate", "session", "--gate", "A", "--gate", "D", "--gate", "load", "--gate", "permission", "--gate", "errors", "--gate", "ids",
		"--gate", "lines", "--gate", "malformed", "--gate", "eof", "--gate", "term", "--gate", "F.stdio")
	verdicts(t, got, tsExampleVerdicts)
}

func TestProbeGemini(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := startModel(t)
	got := w.gates(w.gemini(m), "--live", "--cancel-wait", "5s", "--tool-time", "15s", "--turn-timeout", "60s")
	verdicts(t, got, geminiVerdicts)
}

const goExampleVerdicts = ``

const tsExampleVerdicts = ``

const geminiVerdicts = ``
