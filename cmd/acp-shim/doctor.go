package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"acp-shim/internal/agent"
	"acp-shim/internal/doctor"
	"acp-shim/internal/settings"
	"acp-shim/internal/show"
	"acp-shim/internal/state"
	"acp-shim/internal/status"
	"acp-shim/record"
)

// examined says what is examined.
type examined struct {
	Agent   []string      `arg:"" optional:"" help:"Behind --: the agent and its arguments, if it is not the one that the settings find."`
	Session bool          `help:"Have a session opened, too. That leaves a conversation behind."`
	Timeout time.Duration `default:"45s" help:"How long the agent may take for an answer."`

	StateDir string `placeholder:"DIR" help:"The state directory."`
	Config   string `placeholder:"FILE" help:"The config file."`
}

// doctorCmd looks for what keeps things from working.
type doctorCmd struct {
	examined
	Fix  bool `help:"Put right what can safely be: modes of private files, and what dead processes have left."`
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is what the flags do not say.
func (doctorCmd) Help() string {
	return `A line for everything that was looked at, with its remedy where it needs one: the shim and its settings, the agent and what it
needs to start, its home and login, whether it answers, MCP servers, editors, and what dead processes have left behind. The agent is
started once and asked who it is, which costs no quota. The exit code is 1 where there is a problem; warnings alone are 0.

  acp-shim doctor
  acp-shim doctor --fix
  acp-shim doctor -- ./agy_acp_server.par --uid=
  acp-shim doctor --json | jq '.findings[] | select(.level=="problem")'`
}

func (c doctorCmd) Run() error {
	out := newDoctorPrinter(stdout)
	told := out.finding
	if c.JSON {
		told = func(doctor.Finding) {}
	}
	all, err := c.examine(func(f doctor.Finding) {
		if !c.Fix {
			told(f)
		}
	})
	switch {
	case errors.Is(err, errInterrupted):
		return failed(err)
	case err != nil:
		return err
	}
	if c.Fix {
		for i := range all {
			all[i].Repair()
			told(all[i])
		}
	}
	result := newDoctorResult(all)
	if c.JSON {
		if err := result.print(stdout); err != nil {
			return err
		}
	} else {
		out.summary(result)
	}
	if result.Problems > 0 {
		return exitCode(1)
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// examine carries out all checks.
func (e examined) examine(told func(doctor.Finding)) ([]doctor.Finding, error) {
	subject, end, err := e.subject()
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, stop := untilGivenUp()
	defer stop()
	all := doctor.New(doctor.ThisMachine(), subject).Run(ctx, func(f doctor.Finding) { told(clean(f)) })
	for i := range all {
		all[i] = clean(all[i])
	}
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	return all, nil
}

// clean takes the secrets out of what an agent has said, or a command line holds.
func clean(f doctor.Finding) doctor.Finding {
	f.Text = string(record.RedactText([]byte(f.Text)))
	f.Details = slices.Clone(f.Details)
	for i, d := range f.Details {
		f.Details[i] = string(record.RedactText([]byte(d)))
	}
	return f
}

// settings are those that a run would have. What is wrong with them is a finding,
// and the rest is then looked at by the defaults.
func (e examined) settings() (*settings.Settings, error) {
	var args []string
	if e.StateDir != "" {
		args = append(args, "--state-dir="+e.StateDir)
	}
	if e.Config != "" {
		args = append(args, "--config="+e.Config)
	}
	if len(e.Agent) > 0 {
		args = append(append(args, "--"), e.Agent...)
	}
	set, err := settings.Load(args, false, os.Getenv)
	if err == nil {
		return set, nil
	}
	set, other := settings.Load(nil, false, func(string) string { return "" })
	if other != nil {
		return nil, other
	}
	set.Words, set.StateDir = e.Agent, e.StateDir
	return set, err
}

// subject puts together what the checks look at. end ends what it needs for that.
func (e examined) subject() (subject *doctor.Subject, end func(), err error) {
	set, wrong := e.settings()
	if set == nil {
		return nil, nil, wrong
	}
	s := &shim{set: set, run: agent.NewRunID()}
	if path := s.statePath(); path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return nil, nil, err
		}
		s.state = state.At(path)
	}
	exe, _ := os.Executable()
	subject = &doctor.Subject{
		Version: version(), Exe: exe, Config: set.Config, ConfigErr: wrong,
		StateDir: s.state.Path(), LogFile: s.logOptions().File, Record: expandHome(set.Record),
		Find:    func() (agent.Found, error) { return findAgent(set) },
		Runs:    func() ([]doctor.Run, error) { return doctorRuns(s.state) },
		Session: e.Session, Patience: e.Timeout,
	}
	subject.Servers, subject.ServersErr = doctorServers(set)
	var guard *agent.Guard
	// A guard sees to the agent if this is killed meanwhile.
	subject.Spec = func(f agent.Found) agent.Spec {
		guard, _ = agent.StartGuard(s.run)
		if term.IsTerminal(2) {
			fmt.Fprintln(os.Stderr, "starting the agent, which may take some seconds ...")
		}
		return agent.Spec{Path: f.Path, Args: f.Args, Env: agentEnv(), ExtraEnv: f.Env, RunID: s.run, Gen: 1, PrivateTemp: set.PrivateTemp}
	}
	return subject, func() {
		if guard != nil {
			guard.Close()
		}
	}, nil
}

func doctorRuns(dir *state.Dir) ([]doctor.Run, error) {
	files, err := dir.Runs()
	var runs []doctor.Run
	for _, f := range files {
		r := doctor.Run{File: f.Path, Alive: f.Alive, Remove: f.Remove}
		if s := status.Read(f.Path, f.Alive, f.At, f.Text); s.Status != nil {
			r.ID = s.Status.Run
		}
		runs = append(runs, r)
	}
	return runs, err
}

// doctorPrinter prints findings as lines.
type doctorPrinter struct {
	*painter
	check string
	width int // 0 is without bounds
}

func newDoctorPrinter(f *printer) *doctorPrinter {
	return &doctorPrinter{painter: newPainter(f), width: doctorWidth(f)}
}

// doctorWidth is how wide its lines are. What no terminal shows is for a program,
// which wants a line each.
func doctorWidth(f *printer) int {
	if os.Getenv("COLUMNS") == "" && !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	return columns()
}

func (p *doctorPrinter) finding(f doctor.Finding) {
	word, color := string(f.Level), map[doctor.Level]string{doctor.OK: green, doctor.Warning: yellow, doctor.Problem: "1;" + red}[f.Level]
	if f.Fixed {
		word, color = "fixed", green
	}
	name := f.Check
	if name == p.check {
		name = ""
	}
	p.check = f.Check
	// Behind two columns of 19 signs, as wide as the terminal.
	lines := func(text string) string {
		if text = shown(tildes(text)); p.width == 0 {
			return text
		}
		return strings.TrimPrefix(wrap(text, p.width, 20), " ")
	}
	p.line(p.paint(color, fmt.Sprintf("%-8s", word)) + p.paint(dim, fmt.Sprintf("%-11s", name)) + lines(f.Text))
	more := func(color, text string) {
		for line := range strings.SplitSeq(lines(text), "\n") {
			p.line(strings.Repeat(" ", 19) + p.paint(color, strings.TrimLeft(line, " ")))
		}
	}
	if f.Level == doctor.OK {
		return
	}
	for _, d := range f.Details {
		more(dim, d)
	}
	switch {
	case f.Fixed:
	case f.FixError != "":
		more(red, "could not be fixed: "+f.FixError)
	case f.Remedy != "":
		more("0", "→ "+f.Remedy)
	}
}

func (p *doctorPrinter) summary(r doctorResult) {
	text := show.Count(r.Problems, "problem") + ", " + show.Count(r.Warnings, "warning")
	if r.Problems+r.Warnings == 0 {
		text = "everything that was looked at is in order"
	}
	if r.Fixable > 0 {
		text += fmt.Sprintf("; acp-shim doctor --fix puts %d of them right", r.Fixable)
	}
	p.line("")
	p.line(p.paint(bold, text))
}
