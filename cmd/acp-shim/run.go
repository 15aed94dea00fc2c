package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"acp-shim/internal/agent"
	"acp-shim/internal/logs"
	"acp-shim/internal/settings"
	"acp-shim/internal/state"
	"acp-shim/internal/stdio"
	"acp-shim/proxy"
	"acp-shim/record"
)

// shim is one run as an agent.
type shim struct {
	set   *settings.Settings
	log   *slog.Logger
	state *state.Dir
	run   string
	found func() (agent.Found, error)
	stamp string // of the agent's file
	loop  *proxy.Loop
	chain chain
	slow  sync.Once
	// running is the loop, once there is one, for a signal that may come before.
	running atomic.Pointer[proxy.Loop]
	// over is closed when the loop has ended, with code, for a signal that comes after.
	over chan struct{}
	code int
}

// run is the agent that the client believes to have started.
func run(set *settings.Settings) int {
	if term.IsTerminal(0) {
		fmt.Fprintln(os.Stderr, "acp-shim: waiting for an ACP client on standard input; see acp-shim help, or try acp-shim demo")
	}
	s := &shim{set: set, run: agent.NewRunID(), over: make(chan struct{})}
	defer s.onSignals()()
	streams, err := stdio.Take()
	if err != nil {
		return complain(err)
	}
	defer streams.Close()
	s.state, err = state.Open(s.statePath())
	log, endLog := logs.New(s.logOptions())
	defer endLog()
	s.log = log
	if err != nil && s.statePath() != "" {
		// Somebody has named that place, or it is in a home: then it should work.
		log.Error("sessions are neither remembered nor locked against other shims; name another place with --state-dir", "why", err.Error())
	} else if err != nil {
		log.Info("nothing is remembered beyond this run", "why", err.Error())
	}
	if set.Unread != nil {
		log.Error("the config file is not used, since it cannot be read", "why", set.Unread.Error())
	}
	// The agent is looked for once and pinned: a link that moves while the shim
	// runs must not mix two builds in one connection.
	s.found = sync.OnceValues(s.find)
	taps, endTaps := s.taps()
	defer endTaps()
	if err := s.chain.build(s); err != nil {
		return complain(err)
	}
	defer s.chain.close()
	if s.chain.logins != nil {
		taps = append(taps, s.chain.logins)
	}
	taps, policy, endStatus := s.feedStatus(taps, s.chain.policy)
	defer endStatus()

	nonce := make([]byte, 6)
	rand.Read(nonce)
	s.loop = proxy.New(proxy.Config{
		Options: proxy.Options{
			Chain: s.chain.list, Taps: taps, Policy: policy, Guess: s.chain.guess,
			Nonce: hex.EncodeToString(nonce), MaxAgents: set.MaxAgents, Standby: set.Standby == "auto" && runtime.GOOS != "windows", // a start there unpacks 1.2 GB
			IdleTimeout: set.IdleTimeout,
		},
		In: streams.In, Out: streams.Out, OutFD: streams.OutFD,
		Start: s.startAgent, Store: s.store(), Log: log, MaxFrame: set.MaxFrame << 20,
	})
	go s.watchGuard()
	if stop, err := agent.BecomeSubreaper(); err == nil {
		defer stop()
	}
	code := s.converse()
	for id, t := range s.chain.usage.Sessions() {
		log.Info("used", "session", id, "turns", t.Turns, "total", t.Total, "input", t.Input, "output", t.Output, "context", t.Used)
	}
	agent.KillOrphans()
	return code
}

// converse runs the loop.
func (s *shim) converse() int {
	s.running.Store(s.loop)
	s.code = s.loop.Run(context.Background())
	close(s.over)
	return s.code
}

// expandHome puts the home directory in the place of a leading ~, as a shell
// would have: a config file has none around it.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func (s *shim) statePath() string { return stateDirOf(s.set.StateDir) }

func (s *shim) logOptions() logs.Options {
	opt := logs.Options{Stderr: os.Stderr, StderrLevel: slog.LevelError, JSON: s.set.LogFormat == "json"}
	opt.Level.UnmarshalText([]byte(s.set.LogLevel))
	if s.set.Verbose {
		opt.StderrLevel = min(opt.Level, slog.LevelInfo)
		opt.Color = term.IsTerminal(2) && os.Getenv("NO_COLOR") == ""
	}
	switch {
	case s.set.LogFile == "none":
	case s.set.LogFile != "":
		opt.File = expandHome(s.set.LogFile)
	case s.state.Path() != "":
		opt.File = filepath.Join(s.state.Path(), "logs", "acp-shim.log")
	}
	return opt
}

// findAgent finds the agent by the settings.
func findAgent(set *settings.Settings) (agent.Found, error) {
	exe, _ := os.Executable()
	return agent.Find(agent.Query{
		Words: set.Words, Flag: set.AgentFlag, Env: set.AgentEnv, Config: set.AgentFile,
		Args: set.AgentArgs, Getenv: os.Getenv, Exe: exe, SelfOK: []string{"sim", "replay"},
	})
}

func (s *shim) find() (agent.Found, error) {
	f, err := findAgent(s.set)
	if err != nil {
		return f, err
	}
	s.log.Info("the agent", "path", f.Path, "source", f.Source)
	s.stamp = stampOf(f.Path)
	for _, w := range f.Warnings {
		s.log.Warn(w)
	}
	return f, nil
}

func (s *shim) startAgent(gen int) (proxy.Process, error) {
	f, err := s.found()
	if err != nil {
		return nil, err
	}
	return proxy.Command(proxy.Spec{
		Path: f.Path, Args: f.Args, Env: agentEnv(), ExtraEnv: slices.Concat(f.Env, s.chain.loginEnv()), RunID: s.run, Gen: gen, PrivateTemp: s.set.PrivateTemp,
		Stderr: agent.SkipLines(s.chain.noisy, func(line []byte) { s.agentStderr(gen, line) }),
		StderrLost: func(lines int, bytes int64) {
			s.log.Warn("lines of the agent's stderr were lost", "agent", gen, "lines", lines)
			s.loop.Event(proxy.Event{Kind: "note", Agent: gen, Text: fmt.Sprintf("%d lines of its stderr, %d bytes, came faster than they could be passed on", lines, bytes)})
		},
		TailSkip: s.chain.noisy,
	})
}

// agentEnv is the agent's environment: the shim's own, but for the variables that
// hold secrets of its settings, which the agent's tools would get as well.
func agentEnv() []string {
	secret := map[string]bool{}
	for _, r := range settings.Rows() {
		secret[r.Env()] = r.Secret
	}
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !secret[name] {
			env = append(env, kv)
		}
	}
	return env
}

// agentStderr passes a line of an agent's on. What a process says while it is
// being ended is for the log and the capture: some clients show every byte of
// stderr as an error.
func (s *shim) agentStderr(gen int, line []byte) {
	s.chain.loginLine(line)
	if s.loop.Ending(gen) {
		s.log.Debug("stderr of a process that is being ended", "agent", gen, "line", string(record.RedactText(line)))
	} else {
		os.Stderr.Write(line)
	}
	s.loop.Event(proxy.Event{Kind: "stderr", Agent: gen, Text: string(line)})
}

// watchGuard keeps a guard alive as long as the shim is. Where none can be started
// it is tried again, since too many processes or open files may be so for a while.
func (s *shim) watchGuard() {
	keepGuard(time.Sleep, func() (<-chan struct{}, error) {
		g, err := agent.StartGuard(s.run)
		if err != nil {
			return nil, err
		}
		return g.Done(), nil
	}, func(err error) {
		s.log.Warn("no guard for now: if the shim is killed, agents may stay behind", "error", err.Error())
	})
}

const (
	guardAgain = time.Second
	guardLast  = time.Minute
)

// keepGuard starts one guard after the other, and tells once when it cannot.
func keepGuard(sleep func(time.Duration), start func() (gone <-chan struct{}, err error), failed func(error)) {
	wait, told := guardAgain, false
	for ; ; sleep(wait) {
		gone, err := start()
		if err == nil {
			<-gone
			wait = guardAgain
			continue
		}
		if !told {
			told = true
			failed(err)
		}
		wait = min(2*wait, guardLast)
	}
}

// store keeps the sessions of this agent and its home. Without a directory they
// are neither locked nor remembered.
func (s *shim) store() proxy.Store {
	if agent.Depth(os.Getenv) > 0 {
		// The shim around this one owns its sessions, and would be in the way.
		store, _ := (*state.Dir)(nil).Sessions("", "", false)
		return store
	}
	store, err := s.state.Sessions(storedAgent, geminiHome(), s.set.Remember)
	if err != nil {
		s.log.Error("sessions are neither remembered nor locked against other shims", "why", err.Error())
		store, _ = (*state.Dir)(nil).Sessions("", "", false)
	}
	var once sync.Once
	store.Unlocked = func(err error) {
		once.Do(func() {
			s.log.Error("sessions are not locked against other shims", "why", err.Error())
		})
	}
	return store
}
