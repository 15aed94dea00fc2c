package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/show"
	"acp-shim/internal/state"
	"acp-shim/internal/status"
)

// statusCmd shows the shims that run now.
type statusCmd struct {
	JSON     bool   `name:"json" help:"Print JSON."`
	StateDir string `placeholder:"DIR" help:"The state directory that the shims use."`
	Config   string `placeholder:"FILE" help:"The config file, which may name the state directory."`
}

// Help is what the flags do not say.
func (statusCmd) Help() string {
	return `Every running acp-shim of this user with that state directory: its client, its agent and build, whether cancels were
honoured, whether tokens are reported, sessions, turns, processes, and the last twenty events. Nothing is asked of an agent, so it
costs no quota. A shim that was killed is shown for a day, or until acp-shim doctor --fix.

  acp-shim status
  acp-shim status --json | jq '.[].status.turns'`
}

func (c statusCmd) Run() error {
	dir, err := sessionsWhere{StateDir: c.StateDir, Config: c.Config}.stateDir()
	if err != nil {
		return err
	}
	list, err := shims(dir)
	switch {
	case err != nil:
		return failed(err)
	case c.JSON:
		return printStatusJSON(stdout, list)
	case len(list) == 0:
		fmt.Fprintln(stdout, shown("no acp-shim is running that keeps its state in "+tilde(dir.Path())))
		return nil
	}
	p := newPainter(stdout)
	for i, s := range list {
		if i > 0 {
			p.line("")
		}
		printShim(p, s, time.Now())
	}
	return nil
}

// shims are those that run, the one that was busy last first, and behind them those
// that were killed.
func shims(dir *state.Dir) ([]status.Shim, error) {
	runs, err := dir.Runs()
	if err != nil {
		return nil, err
	}
	var running, killed []status.Shim
	for _, r := range runs {
		s := status.Read(r.Path, r.Alive, r.At, r.Text)
		if r.Untold != nil {
			s.Untold = r.Untold.Error()
		}
		if s.Running {
			running = append(running, s)
		} else if s.Status != nil {
			killed = append(killed, s)
		}
	}
	return append(running, killed...), nil
}

func printStatusJSON(w io.Writer, list []status.Shim) error {
	if list == nil {
		list = []status.Shim{}
	}
	return printPretty(w, list)
}

// printShim prints one block.
func printShim(p *painter, shim status.Shim, now time.Time) {
	s := shim.Status
	if s == nil {
		pid, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(shim.File), ".json"), "-")
		p.line(p.paint(bold, "acp-shim "+shown(pid)) + "  is starting, or has written nothing that can be read")
		return
	}
	head := p.paint(bold, "acp-shim "+strconv.Itoa(s.PID))
	if shim.Untold != "" {
		head += "  " + p.paint(yellow, "running or killed") + ", which cannot be told (" + shown(tildes(shim.Untold)) + ")"
	} else if shim.Running {
		head += "  " + p.paint(green, "running") + " for " + lasted(now.Sub(s.Started))
	} else {
		heard := s.Updated
		if heard.IsZero() {
			heard = shim.At
		}
		head += "  " + p.paint(red, "killed") + ", last heard of " + ago(now.Sub(heard))
	}
	p.line(head + ", client " + shown(peerText(s.Client, "unknown")))
	row := func(name, text string) { p.line("  " + p.paint(dim, fmt.Sprintf("%-10s", name)) + " " + text) }
	agentText := peerText(s.Agent.Peer, "not known yet")
	if s.Agent.Path != "" {
		agentText += "  " + tilde(s.Agent.Path)
	}
	row("agent", shown(agentText))
	profile := shown(s.Profile)
	if s.Exclusive {
		profile += ", a process for every session"
	} else {
		profile += ", one process for all sessions"
	}
	row("profile", profile)
	row("cancel", cancelText(p, s.Cancel))
	row("tokens", tokensText(p, s))
	row("turns", fmt.Sprintf("%d running, %d done (%d cancelled, %d failed)", s.Turns.Running, s.Turns.Done, s.Turns.Cancelled, s.Turns.Failed))
	processes := fmt.Sprintf("%d started, %d ended by the shim, %d by themselves", s.Counts.Starts, s.Counts.Kills, s.Counts.Crashes)
	if shim.Running && len(s.Processes) > 0 {
		var list []string
		for _, x := range s.Processes {
			list = append(list, fmt.Sprintf("#%d pid %d", x.Agent, x.PID))
		}
		processes += "; now " + strings.Join(list, ", ")
	}
	row("processes", processes)
	row("loads", fmt.Sprintf("%d by the client, %d by the shim, %s", s.Counts.Loads, s.Counts.Restores, show.Count(s.Counts.Reconnects, "reconnect")))
	if s.Recording != "" {
		row("recording", shown(tilde(s.Recording)))
	}
	for i, x := range s.Sessions {
		name := "sessions"
		if i > 0 {
			name = ""
		}
		row(name, sessionText(p, x, now))
	}
	if s.SessionsLeftOut > 0 {
		row("", fmt.Sprintf("and %d older ones", s.SessionsLeftOut))
	}
	for i, e := range s.Events {
		name := "events"
		if i > 0 {
			name = ""
		}
		row(name, eventText(p, e))
	}
}

func peerText(x status.Peer, otherwise string) string {
	text := strings.TrimSpace(x.Name + " " + x.Version)
	if text == "" {
		return otherwise
	}
	return text
}

func cancelText(p *painter, c status.Cancel) string {
	text := p.paint(map[string]string{status.Honoured: green, status.Ignored: yellow}[c.State], c.State)
	if c.State != status.Honoured && c.State != status.Ignored {
		text = status.Unknown
	}
	switch {
	case c.Honoured+c.Late > 0:
		text += fmt.Sprintf(" (%d of %d in this run in time)", c.Honoured, c.Honoured+c.Late)
	case c.State == status.Unknown:
		text += " (none was sent yet)"
	}
	return text
}

func tokensText(p *painter, s *status.Status) string {
	switch {
	case s.Tokens.Reported && s.Tokens.Context:
		return p.paint(yellow, "only how full the context is") + ", in " + shown(s.Tokens.Where)
	case s.Tokens.Reported:
		return p.paint(green, "available") + ", in " + shown(s.Tokens.Where)
	case s.Turns.Done == 0:
		return "absent so far, and no turn has ended yet"
	}
	return "absent: this build was never seen to report any"
}

func sessionText(p *painter, s status.Session, now time.Time) string {
	text := shown(s.ID) + "  " + show.Count(s.Turns, "turn")
	if s.Running && s.Since != nil {
		text += ", " + p.paint(cyan, "one runs for "+lasted(now.Sub(*s.Since)))
	}
	if s.Agent > 0 {
		text += fmt.Sprintf(", agent #%d", s.Agent)
	}
	if s.Reconnects > 0 {
		text += ", " + show.Count(s.Reconnects, "reconnect")
	}
	if s.Cwd != "" {
		text += "  " + shown(tilde(s.Cwd))
	}
	return text
}

func eventText(p *painter, e status.Event) string {
	text := p.paint(dim, e.At.Local().Format("15:04:05")) + fmt.Sprintf("  %-8s", shown(e.Kind))
	if e.Agent > 0 {
		text += fmt.Sprintf(" #%d", e.Agent)
	}
	if e.Session != "" {
		text += " " + shown(e.Session)
	}
	if e.Text != "" {
		text += "  " + shown(e.Text)
	}
	return text
}

// lasted is a duration as people say it.
func lasted(d time.Duration) string {
	switch {
	case d < time.Second:
		return "less than a second"
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d/time.Minute%60)
}
