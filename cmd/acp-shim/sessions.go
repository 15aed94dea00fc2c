package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/settings"
	"acp-shim/internal/state"
)

// sessionsCmd is what can be done with remembered sessions.
type sessionsCmd struct {
	List   sessionsList   `cmd:"" default:"withargs" help:"List the sessions that are remembered, or forget some."`
	Repair sessionsRepair `cmd:"" help:"Mend a conversation that does not load any more since its agent was killed in a checkpoint."`
}

// sessionsWhere says which sessions are meant.
type sessionsWhere struct {
	Agent    string `placeholder:"NAME" help:"Only sessions of this agent."`
	Home     string `placeholder:"DIR" help:"Only sessions of this home of the agent (GEMINI_HOME)."`
	StateDir string `placeholder:"DIR" help:"The state directory."`
	Config   string `placeholder:"FILE" help:"The config file, which may name the state directory."`
}

type sessionsList struct {
	sessionsWhere
	ID        string `arg:"" optional:"" help:"Only sessions whose id, or the agent's id for it, begins like this."`
	JSON      bool   `help:"Print JSON."`
	Older     age    `placeholder:"DURATION" help:"Only sessions that were not used for that long (36h, 30d)."`
	Forget    string `placeholder:"ID" xor:"forget" help:"Forget this session, by its id or how that begins: what was set in it, and which conversation of the agent's it is."`
	ForgetAll bool   `xor:"forget" help:"Forget all that would be listed."`
}

// age is a duration that may be given in days.
type age time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *age) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			*a = age(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no duration like 36h or 30d", text)
	}
	*a = age(d)
	return nil
}

func (l sessionsList) Run() error {
	if l.Forget != "" && (l.ID != "" || l.Older > 0) {
		return errors.New("--forget names the one session that is forgotten; leave out the other id and --older, or use --forget-all with them")
	}
	dir, err := l.stateDir()
	if err != nil {
		return err
	}
	list, err := l.entries(dir)
	if err != nil {
		return err
	}
	if l.Forget != "" {
		return l.forget(dir, list)
	}
	list = slices.DeleteFunc(list, func(e state.Entry) bool {
		return !strings.HasPrefix(e.ID, l.ID) && !strings.HasPrefix(e.Real, l.ID) || l.Older > 0 && time.Since(e.Used) < time.Duration(l.Older)
	})
	switch {
	case l.ForgetAll:
		return forgetAll(list)
	case l.JSON:
		return printSessionsJSON(stdout, list)
	case len(list) == 0:
		what := "no session"
		if l.ID != "" || l.Agent != "" || l.Home != "" || l.Older > 0 {
			what = "no such session"
		}
		fmt.Fprintln(stdout, shown(what+" is remembered in "+tilde(dir.Path())))
		return nil
	}
	return printSessions(stdout, list, time.Now())
}

// stateDir is the directory that a run with the same settings would use. It is
// not made: who only looks leaves nothing behind.
func (w sessionsWhere) stateDir() (*state.Dir, error) {
	var args []string
	if w.StateDir != "" {
		args = append(args, "--state-dir="+w.StateDir)
	}
	if w.Config != "" {
		args = append(args, "--config="+w.Config)
	}
	set, err := settings.Load(args, false, os.Getenv)
	if err != nil {
		return nil, err
	}
	path := (&shim{set: set}).statePath()
	if path == "" {
		return nil, errors.New("there is no home directory, and so no state directory; name one with --state-dir")
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return state.At(path), nil
}

// entries are the sessions of the agent and the home that are meant, the one that
// was used last first.
func (w sessionsWhere) entries(dir *state.Dir) ([]state.Entry, error) {
	places, err := dir.Places()
	if err != nil {
		return nil, err
	}
	var list []state.Entry
	for _, p := range places {
		if w.Home != "" && p.Home != oneName(w.Home) {
			continue
		}
		for _, e := range p.Entries() {
			if w.Agent == "" || w.Agent == e.Agent || w.Agent == e.Called {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, state.Newest)
	return list, nil
}

// named are the entries of a session, by its id or the agent's; where none is called
// just that, those whose id begins so.
func named(list []state.Entry, id string) (found []state.Entry) {
	if id == "" {
		return nil
	}
	for _, e := range list {
		if e.ID == id || e.Real == id {
			found = append(found, e)
		}
	}
	if found != nil {
		return found
	}
	for _, e := range list {
		if strings.HasPrefix(e.ID, id) || strings.HasPrefix(e.Real, id) {
			found = append(found, e)
		}
	}
	return found
}

func (l sessionsList) forget(dir *state.Dir, list []state.Entry) error {
	found := named(list, l.Forget)
	switch len(found) {
	case 0:
		return failed(fmt.Errorf("no session %s is remembered in %s; see acp-shim sessions", l.Forget, tilde(dir.Path())))
	case 1:
	default:
		return failed(fmt.Errorf("%s means several sessions: %s; name one by the client's id, and its home with --home", l.Forget, whose(found)))
	}
	e := found[0]
	if err := e.Forget(e.ID); err != nil {
		return failed(fmt.Errorf("%w; nothing was forgotten%s", err, afterInUse(err)))
	}
	fmt.Fprintln(stdout, shown(forgotten(e)))
	fmt.Fprintln(stdout, "the agent's own conversations are untouched")
	return nil
}

// forgotten says what is lost with a record.
func forgotten(e state.Entry) string {
	text := fmt.Sprintf("forgot session %s (agent %s, home %s)", e.ID, agentText(e), homeText(e.Place))
	var lost []string
	if e.Model != "" {
		lost = append(lost, "its model")
	}
	if e.Mode != "" {
		lost = append(lost, "its mode")
	}
	if len(e.Options) > 0 {
		lost = append(lost, "its other options")
	}
	if e.Real != e.ID {
		lost = append(lost, "that it is the agent's "+e.Real)
	}
	if lost != nil {
		text += ": " + strings.Join(lost, ", ")
	}
	return text
}

func forgetAll(list []state.Entry) error {
	gone, kept := 0, 0
	for _, e := range list {
		err := e.Forget(e.ID)
		var used *state.InUse
		switch {
		case err == nil:
			gone++
			fmt.Fprintln(stdout, shown(forgotten(e)))
		case errors.As(err, &used):
			kept++
			fmt.Fprintln(stdout, shown(fmt.Sprintf("kept session %s: it is in use by an acp-shim (%s)", e.ID, used.Owner)))
		default:
			return failed(err)
		}
	}
	fmt.Fprintf(stdout, "%d forgotten, %d kept; the agent's own conversations are untouched\n", gone, kept)
	return nil
}

// whose tells sessions of one name apart.
func whose(list []state.Entry) string {
	var texts []string
	for _, e := range list {
		texts = append(texts, fmt.Sprintf("%s (agent %s, home %s)", e.ID, agentText(e), homeText(e.Place)))
	}
	return strings.Join(texts, ", ")
}

// afterInUse says what to do about a session that is in use.
func afterInUse(err error) string {
	var used *state.InUse
	if errors.As(err, &used) {
		return "; close it there, or end the editor that started it, and try again"
	}
	return ""
}

// failed prints an error and makes 1 the exit code: what was asked for was
// understood, and could not be done.
func failed(err error) error {
	complain(errors.New(shown(tildes(err.Error()))))
	return exitCode(1)
}
