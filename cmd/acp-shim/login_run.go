package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/term"

	"acp-shim/internal/agent"
	"acp-shim/internal/client"
	"acp-shim/internal/login"
	"acp-shim/internal/settings"
	"acp-shim/internal/state"
)

// loginRun is an agent that somebody logs in to.
type loginRun struct {
	*painter
	shim  *shim
	found agent.Found
	guard *agent.Guard
	catch *login.Catch
	pages chan login.Page
	cwd   string
	words []string // the agent's command, as it was given behind --

	conn  *client.Conn
	hello gjson.Result // the answer to initialize
}

func newLoginRun(words []string) (*loginRun, error) {
	given := words
	if len(words) > 0 {
		words = append([]string{"--"}, words...)
	}
	set, err := settings.Load(words, false, os.Getenv)
	if err != nil {
		return nil, err
	}
	l := &loginRun{painter: newPainter(stdout), words: given, pages: make(chan login.Page, 16)}
	l.shim = &shim{set: set, run: agent.NewRunID(), state: state.At(stateDirOf(set.StateDir))}
	if l.found, err = findAgent(set); err != nil {
		return nil, fmt.Errorf("%w; acp-shim agent install puts one there", err)
	}
	if l.cwd, err = os.MkdirTemp("", "acp-shim-login-"); err != nil {
		return nil, fmt.Errorf("making a directory for a session: %w; set TMPDIR to one that is there", err)
	}
	if l.guard, err = agent.StartGuard(l.shim.run); err != nil {
		l.guard = nil
	}
	l.catch, err = l.shim.newCatch(func(p login.Page) {
		select {
		case l.pages <- p:
		default:
		}
	})
	if err == nil {
		err = l.catch.Begin()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close ends the agent, and leaves nothing behind.
func (l *loginRun) close() {
	l.end()
	if l.catch != nil {
		l.catch.Close()
	}
	if l.guard != nil {
		l.guard.Close()
	}
	os.RemoveAll(l.cwd)
}

// How long an agent may take to say hello, to open a session, and to end with its
// input.
const (
	startPatience   = 90 * time.Second
	sessionPatience = time.Minute
	endPatience     = 2 * time.Second
)

func (l *loginRun) end() {
	if l.conn != nil {
		l.conn.Close(endPatience)
		l.conn = nil
	}
}

// say prints what has happened, and below it what follows.
func (l *loginRun) say(what string, more ...string) {
	if what != "" {
		l.line(what)
	}
	for _, m := range more {
		l.line(strings.TrimRight("  "+m, " "))
	}
}

// start starts the agent, instead of the one there is, and has it say hello.
func (l *loginRun) start(ctx context.Context) error {
	l.end()
	conn, err := client.Start(client.Options{
		Spec: agent.Spec{
			Path: l.found.Path, Args: l.found.Args, Env: agentEnv(), ExtraEnv: append(l.catch.Env(os.Getenv), l.found.Env...),
			Dir: l.cwd, RunID: l.shim.run, Gen: 1, Stderr: l.catch.Line,
		},
		Seen: func(line client.Line) {
			if !line.Sent && (len(line.Bytes) == 0 || line.Bytes[0] != '{') {
				l.catch.Line(line.Bytes)
			}
		},
	})
	if err != nil {
		return err
	}
	l.conn = conn
	slow := l.waiting("waiting for the agent to start")
	defer slow()
	limit, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	l.hello, err = conn.Request("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},`+
		`"clientInfo":{"name":"acp-shim","title":"acp-shim login","version":`+quote(version())+`}}`).Result(limit)
	return l.explain(err)
}

// waiting says what is waited for, where that takes over a second and somebody looks.
func (l *loginRun) waiting(what string) (stop func()) {
	if !term.IsTerminal(2) {
		return func() {}
	}
	t := time.AfterFunc(time.Second, func() { fmt.Fprintln(os.Stderr, what+" …") })
	return func() { t.Stop() }
}

// explain puts behind an error what the agent's last words were, and what to do.
func (l *loginRun) explain(err error) error {
	var gone *client.GoneError
	if errors.As(err, &gone) && gone.Stderr != "" {
		return fmt.Errorf("%w; it said: %s; acp-shim doctor looks for the cause", err, shown(lastLine(gone.Stderr)))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("the agent runs, and does not answer")
	}
	if err != nil {
		return fmt.Errorf("%w; acp-shim doctor looks for the cause", err)
	}
	return nil
}

// tryingSession opens a session and closes it, where the agent lets it. refused is the
// agent's error, which is no failure: it is what was to be found out.
func (l *loginRun) tryingSession(ctx context.Context) (refused, err error) {
	limit, cancel := context.WithTimeout(ctx, sessionPatience)
	defer cancel()
	r, err := l.conn.Request("session/new", `{"cwd":`+quote(l.cwd)+`,"mcpServers":[]}`).Result(limit)
	var no *client.RefusedError
	if errors.As(err, &no) {
		return no, nil
	}
	if err != nil {
		return nil, l.explain(err)
	}
	if r.Get("sessionId").Str == "" {
		return nil, errors.New("the agent answered session/new without a session id; acp-shim doctor looks for the cause")
	}
	method := "session/close"
	if l.hello.Get("agentCapabilities.sessionCapabilities.delete").Exists() {
		method = "session/delete"
	}
	l.conn.Request(method, `{"sessionId":`+r.Get("sessionId").Raw+`}`).Wait(limit)
	return nil, nil
}

// tryingNewProcess is tryingSession in a process that knows only what the agent has
// kept.
func (l *loginRun) tryingNewProcess(ctx context.Context) (refused, err error) {
	if err := l.start(ctx); err != nil {
		return nil, err
	}
	return l.tryingSession(ctx)
}

// authenticate has the agent log in, and prints each page that it wants opened.
func (l *loginRun) authenticate(ctx context.Context, method string) error {
	began := time.Now()
	call := l.conn.Request("authenticate", `{"methodId":`+quote(method)+`}`)
	counting := term.IsTerminal(2)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	if !counting {
		tick.Stop()
	}
	clear := func() {
		if counting {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
	}
	for {
		select {
		case p := <-l.pages:
			clear()
			l.page(p)
		case now := <-tick.C:
			left := max(login.Window-now.Sub(began), 0).Round(time.Second)
			fmt.Fprintf(os.Stderr, "\r\x1b[K  waiting for the login; the agent gives up in about %v", left)
		case <-call.Done():
			clear()
			_, err := call.Result(ctx)
			var no *client.RefusedError
			if errors.As(err, &no) {
				return fmt.Errorf("the agent did not log in: %s; begin again with acp-shim login", shown(no.Object.Get("message").Str))
			}
			return l.explain(err)
		case <-ctx.Done():
			clear()
			return ctx.Err()
		}
	}
}

func (l *loginRun) page(p login.Page) {
	l.say("Open this page in a browser on this machine:", "", p.URL, "")
	if p.Port != 0 {
		l.say("With a browser on another machine, first run there, and leave it running:", "", p.Tunnel(), "")
	}
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
}
