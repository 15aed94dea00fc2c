package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"acp-shim/internal/conversation"
	"acp-shim/internal/state"
)

type sessionsRepair struct {
	sessionsWhere
	ID      string `arg:"" help:"The session's id or how it begins, the agent's id for it, or the path of the conversation's .db."`
	DryRun  bool   `help:"Only show what would be done."`
	Unowned bool   `help:"You have made sure that no process has the conversation open; it counts only where that cannot be seen."`
}

func (r sessionsRepair) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := r.stateDir()
	if err != nil {
		return err
	}
	file, home, err := r.find(dir)
	if err != nil {
		return failed(err)
	}
	step := func(line string) { fmt.Fprintln(stdout, shown(line)) }
	step("conversation: " + tilde(file.Path))
	if file.Home() == "" {
		step("owner: it lies in no agent's home, so that no acp-shim can use it")
	} else {
		release, err := own(dir, file, home)
		if err != nil {
			return failed(fmt.Errorf("%w; nothing was changed%s", err, afterInUse(err)))
		}
		defer release()
		step("owner: no acp-shim uses it, and none can until this is over")
	}
	err = conversation.Repair{File: file, Unowned: r.Unowned, DryRun: r.DryRun, Step: step}.Run(ctx)
	if errors.Is(err, conversation.ErrNoProgram) {
		fmt.Fprintln(stdout, byHand(file))
	}
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// find finds the conversation, and the agent's home as the user, or the state
// directory, calls it.
func (r sessionsRepair) find(dir *state.Dir) (file conversation.File, home string, err error) {
	if strings.HasSuffix(r.ID, ".db") && (filepath.IsAbs(r.ID) || strings.ContainsRune(r.ID, filepath.Separator)) {
		file, err = conversation.Open(r.ID)
		return file, file.Home(), err
	}
	list, err := r.entries(dir)
	if err != nil {
		return file, "", err
	}
	home, id, found := "", r.ID, named(list, r.ID)
	for i, e := range found {
		own := e.Home
		if i > 0 && (e.Real != id || own != home) {
			return file, "", fmt.Errorf("%s means several sessions: %s; name one by its agent's id, and its home with --home", r.ID, whose(found))
		}
		home, id = own, e.Real
	}
	switch {
	case home != "":
	case r.Home != "":
		home = oneName(r.Home)
	default:
		home = geminiHome()
	}
	if home == "" {
		return file, "", errors.New("the agent's home is not known; name it with --home")
	}
	file, err = conversation.Find(home, id)
	if errors.Is(err, conversation.ErrNone) {
		known := "it is remembered in " + tilde(dir.Path())
		if len(found) == 0 {
			known = "nothing is remembered of it in " + tilde(dir.Path())
		}
		err = fmt.Errorf("session %s: %w; %s; see acp-shim sessions, or name the agent's home with --home", r.ID, err, known)
	}
	return file, home, err
}

// own takes a conversation from every shim, under all names that a client could
// have for it.
func own(dir *state.Dir, file conversation.File, home string) (release func(), err error) {
	var releases []func()
	release = func() {
		for _, r := range releases {
			r()
		}
	}
	places := []state.Place{dir.Place(storedAgent, oneName(home))}
	there, err := dir.Places()
	if err != nil {
		return nil, err
	}
	for _, p := range there {
		if p.Home == places[0].Home && !p.Same(places[0]) {
			places = append(places, p)
		}
	}
	for _, p := range places {
		ids := []string{file.ID}
		for _, e := range p.Entries() {
			if e.Real == file.ID && e.ID != file.ID {
				ids = append(ids, e.ID)
			}
		}
		for _, id := range ids {
			r, err := p.Own(id)
			if err != nil {
				release()
				return nil, err
			}
			releases = append(releases, r)
		}
	}
	return release, nil
}

// byHand tells a user without the program what to do.
func byHand(file conversation.File) string {
	return "install sqlite3 (apt install sqlite3, dnf install sqlite, brew install sqlite, winget install SQLite.SQLite)\n" +
		"and run this again; or, with every agent and editor ended, do by hand:\n  " +
		strings.Join(file.ByHand(), "\n  ")
}
