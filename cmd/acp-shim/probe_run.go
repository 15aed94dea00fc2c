package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"acp-shim/internal/agent"
	"acp-shim/internal/probe"
	"acp-shim/internal/settings"
	"acp-shim/internal/show"
	"acp-shim/record"
)

// prober runs probes of one agent.
type prober struct {
	cmd   probeCmd
	exe   string
	found agent.Found
	guard *agent.Guard
	runID string
	state string // a directory for shims that are probed
	start time.Time
}

// The words by which this program is started again by an agent or a probe.
const (
	probeMCP  = "probe-mcp"
	probeShim = "probe-shim"
)

func newProber(c probeCmd) (*prober, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	p := &prober{cmd: c, exe: exe, runID: agent.NewRunID(), start: time.Now()}
	var args []string
	if c.Config != "" {
		args = append(args, "--config="+c.Config)
	}
	set, err := settings.Load(append(append(args, "--"), c.Agent...), false, os.Getenv)
	if err != nil {
		return nil, err
	}
	// A shim is an agent like any other here, when it is named with its arguments.
	if p.found, err = agent.Find(agent.Query{
		Words: set.Words, Flag: set.AgentFlag, Env: set.AgentEnv, Config: set.AgentFile,
		Args: set.AgentArgs, Getenv: os.Getenv, Exe: exe, SelfOK: []string{"sim", "replay", "run", "--"},
	}); err != nil {
		return nil, err
	}
	for _, w := range p.found.Warnings {
		fmt.Fprintln(os.Stderr, "acp-shim:", shown(w))
	}
	if p.guard, err = agent.StartGuard(p.runID); err != nil {
		p.guard = nil // then a kill of the probe leaves its agents behind, and nothing else does
	}
	return p, nil
}

func (p *prober) close() {
	if p.guard != nil {
		p.guard.Close()
	}
	if p.state != "" {
		os.RemoveAll(p.state)
	}
}

// run probes the agent, bare or with this shim in front of it.
func (p *prober) run(ctx context.Context, through bool) (*probe.Report, error) {
	secret := probe.NewSecret()
	path, args, env := p.found.Path, p.found.Args, agentEnv()
	if through {
		state, err := os.MkdirTemp("", "acp-shim-probe-state-")
		if err != nil {
			return nil, fmt.Errorf("making a state directory for the shim: %w", err)
		}
		p.state = state
		words := []string{probeShim, "--state-dir=" + state, "--log-file=none"}
		if p.cmd.Config != "" {
			words = append(words, "--config="+p.cmd.Config)
		}
		// The shim keeps its secrets from the agent itself.
		path, args, env = p.exe, append(append(append(words, "--"), path), args...), nil
	}
	file, err := p.capturePath(through)
	if err != nil {
		return nil, err
	}
	capture, err := record.Create(file, record.Options{
		Version: version(), Agent: "probe", Argv: append([]string{path}, args...), MaxBlob: 4 << 10, Queue: 256 << 20,
		Secrets: func() [][]byte { return [][]byte{[]byte(secret)} },
		Warn:    func(err error) { fmt.Fprintln(os.Stderr, "acp-shim:", shown(err.Error())) },
	})
	if err != nil {
		return nil, fmt.Errorf("%w; give another place with --capture", err)
	}
	progress := newProgress(through)
	report, err := probe.Run(ctx, probe.Options{
		Path: path, Args: args, Env: env, ExtraEnv: p.found.Env, RunID: p.runID,
		Gates: p.cmd.Gate, Live: p.cmd.Live, Jobs: p.cmd.Jobs,
		Timeout: p.cmd.Timeout, Turn: p.cmd.Turn, Cancel: p.cmd.Cancel, Tool: p.cmd.Tool,
		Tap: capture, Secret: secret, Stdio: []string{p.exe, probeMCP}, Shim: version(), Done: progress.done,
	})
	progress.end()
	closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if lost := capture.Shutdown(closing); lost != nil && err == nil {
		fmt.Fprintln(os.Stderr, "acp-shim: the capture is not complete:", shown(lost.Error()))
	}
	if err != nil {
		return nil, fmt.Errorf("%w; what was said is in %s", err, capture.Path())
	}
	report.Capture = capture.Path()
	return report, nil
}

// capturePath is where the capture of a run goes.
func (p *prober) capturePath(through bool) (string, error) {
	path := expandHome(p.cmd.Capture)
	if path == "" {
		// By the process id as well: several may be started in the same second.
		path = fmt.Sprintf("acp-shim-probe-%s-%d.jsonl", p.start.Format("20060102-150405"), os.Getpid())
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() || strings.HasSuffix(path, "/") {
		return path, nil
	}
	if through {
		ext := filepath.Ext(path)
		path = strings.TrimSuffix(path, ext) + "-through" + ext
	}
	if _, err := os.Lstat(path); err == nil {
		// Its numbers would stand in it twice, and proofs name frames by them.
		return "", fmt.Errorf("the capture %s is there already; name another file with --capture, or remove it", path)
	}
	return path, nil
}

// progress says on a terminal what is being done.
type progress struct {
	w     io.Writer
	label string
}

func newProgress(through bool) *progress {
	p := &progress{label: "probing"}
	if through {
		p.label = "probing through the shim"
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p.w = os.Stderr
		fmt.Fprintf(p.w, "%s: starting the agent", p.label)
	}
	return p
}

func (p *progress) done(r *probe.Result, n, of int) {
	if p.w != nil {
		line := fmt.Sprintf("%s: %d of %d, %s %s", p.label, n, of, r.ID, r.Verdict)
		if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && w > 0 {
			line = show.Clip(line, w-1) // what takes two lines is not erased
		}
		fmt.Fprint(p.w, "\r\x1b[K"+line)
	}
}

func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// printPretty prints a value as JSON that a person may read as well.
func printPretty(w io.Writer, v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := w.Write(escaped([]byte(b.String())))
	return err
}

// probeMCPCmd is the MCP server that a probed agent starts.
type probeMCPCmd struct{}

func (probeMCPCmd) Run() error { return probe.ServeStdio(context.Background()) }

// beProbed is the shim as a probe puts it before an agent: not as a shim within a
// shim, which remembers nothing.
func beProbed(args []string) int {
	os.Unsetenv(agent.EnvDepth)
	return dropIn(args, false)
}

// cleanLine is text of a peer's as one line for a terminal.
func cleanLine(text string) string { return show.Clean(text) }
