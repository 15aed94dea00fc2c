//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	p := w.start(append(append(argv, "--"), agent...))
	// Many starts of a large agent take longer than any single wait.
	select {
	case <-p.exited:
	case <-time.After(4 * time.Minute):
		w.t.Fatalf("it did not end; it said\n%s", p.text())
	}
	code := p.wait()
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
	flags := []string{"--live", "--cancel-wait", "5s", "--tool-time", "15s", "--turn-timeout", "60s"}
	for _, g := range []string{"hello", "version", "auth", "session", "A.set_model", "A.set_mode", "B", "C", "stream", "D", "E", "F", "permission", "client", "prompt", "errors", "names", "ids", "malformed", "eof", "term"} {
		flags = append(flags, "--gate", g)
	}
	got := w.gates(w.gemini(m), flags...)
	verdicts(t, got, geminiVerdicts)
}

const goExampleVerdicts = `
hello PASS an agent without a name, protocol 1
session PASS
A NOT-RUN offers no models and no modes
D FALLBACK the next turn ends well, and does not know what came before
D.load NOT-RUN the agent offers no session/load
D.id PASS
F.stdio FAIL the server was never asked anything
load NOT-RUN
permission PASS allow_once, reject_once
errors FALLBACK a session that there is not is taken
ids PASS
lines FALLBACK a line of 20 MiB is too long
malformed PASS
eof PASS exited with code 0
term PASS was killed by SIGTERM
`

const tsExampleVerdicts = `
hello FALLBACK the answer lacks authMethods
session PASS
A NOT-RUN offers no models and no modes
D.load NOT-RUN the agent offers no session/load
D.id PASS answered with -32601
load NOT-RUN
permission PASS allow_once, reject_once
errors FALLBACK
ids FALLBACK above 2^53 → 9007199254740992, 1.0 → 1
lines PASS
malformed FALLBACK batch: the agent ends
eof PASS exited with code 0
term PASS was killed by SIGTERM
`

const geminiVerdicts = `
hello PASS gemini-cli
version PASS 99 is answered with 1
auth PASS
session PASS
A.set_model PASS
A.set_mode PASS
B PASS _meta.quota.token_count.input_tokens
C FALLBACK diff yes, rawInput no, locations yes
stream PASS many chunks, all before the answer
D PASS cancelled after
D.tool PASS cancelled after
D.id PASS answered with -32601
E PASS
F PASS tools/list, tools/call, with the secret; connects before the turn
F.sse PASS tools/call
F.stdio PASS tools/call
F.image PASS the model sees it
F.dead PASS
F.shapes PASS
permission.cancel PASS
permission.deny PASS not done
client.none PASS
client.fs PASS asked for: fs/read_text_file
prompt.image PASS Above red, below blue.
prompt.resource PASS KUMQUAT
prompt.mixed FAIL the answer has no "red" in it
errors PASS unknown method -32601
ids FALLBACK above 2^53
malformed PASS
eof PASS
term PASS
`
