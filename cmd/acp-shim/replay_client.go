package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/agent"
	"acp-shim/internal/show"
	"acp-shim/proxy"
	"acp-shim/record"
	"acp-shim/replay"
)

// drive plays the recorded client for a real agent.
func (c replayCmd) drive(script *replay.Script) error {
	cwd, err := c.cwd(script)
	if err != nil {
		return err
	}
	exe, _ := os.Executable()
	found, err := agent.Find(agent.Query{Words: c.Agent, Getenv: os.Getenv, Exe: exe, SelfOK: []string{"sim", "replay", "run", "--"}})
	if err != nil {
		return err
	}
	out := c.out()
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		// Another run behind what is there would be compared with it.
		return fmt.Errorf("%s is there already; name another file or a directory with --record", out)
	}
	w, err := record.Create(out, record.Options{
		Raw: c.Raw, Version: version(), Agent: strings.TrimSuffix(filepath.Base(found.Path), filepath.Ext(found.Path)),
		Argv: append([]string{found.Path}, found.Args...),
		Warn: func(err error) { c.tell("the new capture has a gap: " + err.Error()) },
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	sum, driveErr := c.converse(ctx, script, w, found, cwd)
	if err := w.Close(); err != nil {
		c.tell("the new capture is not complete: " + err.Error())
	}
	if sum == nil {
		return driveErr
	}
	c.report(sum, w.Path())
	if driveErr != nil {
		c.tell(driveErr.Error())
	}
	if driveErr != nil || len(sum.Unanswered) > 0 {
		return exitCode(1)
	}
	return nil
}

// converse starts the agent, has the conversation, and ends what is left of it.
func (c replayCmd) converse(ctx context.Context, script *replay.Script, w *record.Writer, found agent.Found, cwd string) (*replay.Summary, error) {
	run := agent.NewRunID()
	if g, err := agent.StartGuard(run); err == nil {
		defer g.Close()
	}
	p, err := proxy.Command(proxy.Spec{
		Path: found.Path, Args: found.Args, Env: agentEnv(), ExtraEnv: found.Env, Dir: cwd, RunID: run, Gen: 1,
		Stderr: func(line []byte) {
			fmt.Fprintln(os.Stderr, shown(strings.TrimRight(string(line), "\r\n")))
			w.Event(&proxy.Event{Kind: "stderr", Agent: 1, Text: string(line)})
		},
	})
	if err != nil {
		return nil, err
	}
	w.Event(&proxy.Event{Kind: "spawn", Agent: 1, Data: fmt.Appendf(nil, `{"pid":%d}`, p.Pid())})
	defer func() {
		p.Terminate()
		late := time.NewTimer(time.Second)
		defer late.Stop()
		select {
		case <-p.Done():
		case <-late.C:
		}
		p.Kill() // also what it has left behind
		<-p.Done()
		w.Event(&proxy.Event{Kind: "exit", Agent: 1, Text: p.Exit().Words})
		p.Release()
	}()
	return script.Drive(ctx, p.Stdin(), output{p}, replay.DriveOptions{
		Cwd: cwd, Patience: c.Patience,
		Frame: func(fromClient bool, line []byte) {
			f := proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: line}
			if fromClient {
				f.From, f.To = f.To, f.From
			}
			w.Frame(&f)
		},
	})
}

// output is an agent's, which can be closed for a reader that waits for it: a
// tool may outlive the agent and hold it open.
type output struct{ p proxy.Process }

func (o output) Read(b []byte) (int, error) { return o.p.Stdout().Read(b) }
func (o output) Close() error               { return o.p.Stdout().SetReadDeadline(time.Now()) }

// cwd is the directory of the sessions, "" for those that were recorded.
func (c replayCmd) cwd(script *replay.Script) (string, error) {
	if c.Cwd != "" {
		return filepath.Abs(c.Cwd)
	}
	for _, dir := range script.Directories() {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return os.Getwd()
		}
	}
	return "", nil
}

// out is where the new capture goes.
func (c replayCmd) out() string {
	if c.Record != "" {
		return expandHome(c.Record)
	}
	base := "capture"
	if c.File != "-" {
		base = strings.TrimSuffix(strings.TrimSuffix(c.File, ".zst"), ".jsonl")
	}
	out := base + "-driven.jsonl"
	for n := 2; ; n++ {
		if _, err := os.Lstat(out); err != nil {
			return out
		}
		out = base + "-driven-" + strconv.Itoa(n) + ".jsonl"
	}
}

func (c replayCmd) report(sum *replay.Summary, path string) {
	fmt.Fprintf(stdout, "sent      %s, %d of them requests: %d answered", show.Count(int(sum.Sent), "frame"), sum.Requests, sum.Answered)
	if sum.Failed > 0 {
		fmt.Fprintf(stdout, ", %d with an error that was none in the recording", sum.Failed)
	}
	fmt.Fprintf(stdout, "\nreceived  %s, %d of them requests", show.Count(int(sum.Received), "frame"), sum.Asked)
	if sum.Unlike > 0 {
		fmt.Fprintf(stdout, ": %d that the recorded client was not asked", sum.Unlike)
	}
	fmt.Fprintf(stdout, "\nrecorded  %s\n", shown(path))
	for _, what := range sum.Unanswered {
		fmt.Fprintln(stdout, "no answer to "+shown(what))
	}
	if c.File != "-" {
		fmt.Fprintf(stdout, "compare   acp-shim diff %s %s\n", shown(c.File), shown(path))
	}
}
