package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"acp-shim/internal/login"
	"acp-shim/rewrite"
)

// loginCmd logs in to the agent.
type loginCmd struct {
	Method   string        `arg:"" optional:"" help:"How: oauth-personal (the default), oauth-business, gemini-api-key or agent-platform; the agent may know others."`
	Write    bool          `help:"Put the method into the agent's settings.json, so that every start of the agent has it. The file is merged, and kept as it was beside it."`
	Project  string        `placeholder:"ID" help:"With --write: the Google Cloud project (gcp.project)."`
	Location string        `placeholder:"REGION" help:"With --write: its location (gcp.location)."`
	Again    bool          `help:"Log in although a session can be opened already."`
	Timeout  time.Duration `default:"10m" help:"How long a login may take (${default})."`
}

// Help is what the flags do not say.
func (loginCmd) Help() string {
	return `The agent's own login, in a terminal, also on a machine without a browser: the page's address is printed wherever the agent
sends it, with the ssh command for a browser on another machine. Nothing of what the agent keeps is read or copied. At the end a
session is opened in a new process of the agent, and closed again: then an editor can do so, too.

  acp-shim login                                        with a Google account
  acp-shim login gemini-api-key --write                 with the key in GEMINI_API_KEY
  acp-shim login oauth-business --write --project P --location us-central1
  acp-shim login -- /opt/agy/agy_acp_server.par         the login of another agent`
}

// behindDashes are the words behind --, an agent's command.
type behindDashes []string

func (c loginCmd) Run(words behindDashes) error {
	l, err := newLoginRun(words)
	if err != nil {
		return err
	}
	defer l.close()
	ctx, stop := untilGivenUp()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err = c.login(ctx, l)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the login was not finished within %v; begin again with acp-shim login", c.Timeout)
	case ctx.Err() != nil:
		text := "Given up; nothing was changed."
		if c.Write {
			text = "Given up; the agent's settings stay as they were written."
		}
		l.say("", text)
		return exitCode(130)
	}
	return err
}

// untilGivenUp is over when somebody gives up, also by closing the terminal: a command
// that has made something takes it away then. The next signal ends the program.
func untilGivenUp() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func (c loginCmd) login(ctx context.Context, l *loginRun) error {
	if c.Write {
		if err := c.write(l); err != nil {
			return err
		}
	} else if c.Project != "" || c.Location != "" {
		return errors.New("--project and --location are written into the agent's settings: say --write, too")
	}
	if err := l.start(ctx); err != nil {
		return err
	}
	if c.Method != "" && l.hello.Get("agentInfo.name").Str == rewrite.AgyName {
		set, err := agentsOwn()
		if err != nil {
			return err
		}
		if c.lacks(l, set, c.Method) {
			return exitCode(1)
		}
	}
	method, err := c.method(l)
	if err != nil {
		return err
	}
	if !c.Again && c.Method == "" {
		if refused, err := l.tryingSession(ctx); err != nil {
			return err
		} else if refused == nil {
			l.say("A session can be opened already: there is nothing to do.", "to use another account: acp-shim logout, then acp-shim login")
			return nil
		}
	}
	l.say("Logging in with "+method, "a page opens in a browser where there is one; Ctrl-C gives up")
	if err := l.authenticate(ctx, method); err != nil {
		return err
	}
	l.say("The agent has taken the login.")
	return c.prove(ctx, l, method)
}

// method is the one that is asked for, as the agent calls it.
func (c loginCmd) method(l *loginRun) (string, error) {
	var offered []string
	for _, m := range l.hello.Get("authMethods").Array() {
		offered = append(offered, m.Get("id").Str)
	}
	want := c.Method
	if want == "vertex-ai" && !slices.Contains(offered, want) {
		want = "agent-platform"
	}
	if want == "" && slices.Contains(offered, login.Methods()[0].ID) {
		want = login.Methods()[0].ID
	}
	if want == "" && len(offered) == 1 {
		want = offered[0]
	}
	switch {
	case len(offered) == 0:
		return "", errors.New("the agent offers no way to log in, so that none should be needed; acp-shim probe says what it can do")
	case !slices.Contains(offered, want):
		return "", fmt.Errorf("the agent offers no login %q; it offers %s", shown(want), shown(strings.Join(offered, ", ")))
	}
	return want, nil
}

// agentsOwn are the agent's settings.
func agentsOwn() (*login.Settings, error) {
	home := geminiHome()
	if home == "" {
		return nil, errors.New("there is no home directory for the agent's settings; set GEMINI_HOME")
	}
	return login.Read(home)
}

// lacks says what a method needs and does not have, and the whole command that
// finishes the login then.
func (c loginCmd) lacks(l *loginRun, set *login.Settings, method string) bool {
	needs := set.Needs(method, os.Getenv)
	if len(needs) == 0 {
		return false
	}
	for i := range needs {
		needs[i] = tildes(needs[i])
	}
	l.say("Logging in with "+method+" needs", needs...)
	words, before, write := []string{"acp-shim", "login", method}, "", c.Write
	switch method {
	case "gemini-api-key":
		before = "export GEMINI_API_KEY=…; "
	case "oauth-business", "agent-platform", "vertex-ai":
		write = true
	}
	if write {
		words = append(words, "--write")
	}
	if method != "gemini-api-key" {
		words = append(words, "--project", shellWord(cmp.Or(c.Project, set.Project, "PROJECT")), "--location", shellWord(cmp.Or(c.Location, set.Location, "LOCATION")))
	}
	if len(l.words) > 0 {
		words = append(words, "--")
		for _, w := range l.words {
			words = append(words, shellWord(w))
		}
	}
	l.say("", "then: "+before+strings.Join(words, " "))
	return true
}

// write puts the method into the agent's settings.
func (c loginCmd) write(l *loginRun) error {
	method := c.Method
	if method == "" {
		method = login.Methods()[0].ID
	}
	m, ok := login.Lookup(method)
	if !ok {
		return fmt.Errorf("%q is no login of the Antigravity server, whose settings --write writes; it has oauth-personal, oauth-business, gemini-api-key and agent-platform", shown(method))
	}
	set, err := agentsOwn()
	if err != nil {
		return err
	}
	with := *set
	with.Project, with.Location = cmp.Or(c.Project, set.Project), cmp.Or(c.Location, set.Location)
	if c.lacks(l, &with, m.ID) {
		l.say("", "nothing was written")
		return exitCode(1)
	}
	changed, backup, err := set.Write(m.ID, c.Project, c.Location)
	if err != nil {
		return err
	}
	switch {
	case !changed:
		l.say("The agent's settings have that already: " + tilde(set.Path))
	case backup != "":
		l.say("Written: "+tilde(set.Path), "as it was before: "+tilde(backup))
	default:
		l.say("Written: " + tilde(set.Path))
	}
	return nil
}

// prove opens a session in a new process, as an editor will.
func (c loginCmd) prove(ctx context.Context, l *loginRun, method string) error {
	refused, err := l.tryingNewProcess(ctx)
	if err != nil {
		return err
	}
	if refused == nil {
		l.say("A session can be opened by a new process of the agent: you are logged in.", "next: acp-shim setup, to tell your editor; acp-shim doctor, to see all is well")
		return nil
	}
	l.say("A new process of the agent does not know of it: "+shown(refused.Error()), "put the method into its settings: acp-shim login "+method+" --write")
	return exitCode(1)
}

// logoutCmd logs out.
type logoutCmd struct{}

// Help is what the flags do not say.
func (logoutCmd) Help() string {
	return `The agent removes the login that it keeps. A key in your environment, and the method in its settings.json, are yours to remove.

  acp-shim logout
  acp-shim logout -- /opt/agy/agy_acp_server.par`
}

func (logoutCmd) Run(words behindDashes) error {
	l, err := newLoginRun(words)
	if err != nil {
		return err
	}
	defer l.close()
	ctx, stop := untilGivenUp()
	defer stop()
	err = logout(ctx, l)
	if ctx.Err() != nil {
		l.say("", "Given up; acp-shim login says whether you are still logged in.")
		return exitCode(130)
	}
	return err
}

func logout(ctx context.Context, l *loginRun) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := l.start(ctx); err != nil {
		return err
	}
	if !l.hello.Get("agentCapabilities.auth.logout").Exists() {
		l.say("The agent does not say that it can log out; it is asked all the same.")
	}
	if _, err := l.conn.Request("logout", "{}").Result(ctx); err != nil {
		return fmt.Errorf("%w; a prompt /logout may do it", err)
	}
	refused, err := l.tryingNewProcess(ctx)
	if err != nil {
		return err
	}
	if refused == nil {
		l.say("The agent has logged out, and a new process of it opens a session all the same.", "a key in the environment, or auth.type in its settings.json, lets it: see acp-shim doctor")
		return exitCode(1)
	}
	l.say("Logged out: a session takes a login now.", "next: acp-shim login")
	return nil
}
