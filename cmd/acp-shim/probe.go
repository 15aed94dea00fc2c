package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"acp-shim/internal/probe"
)

// probeCmd finds out what an agent can do.
type probeCmd struct {
	Agent []string `arg:"" optional:"" help:"Behind --: the agent and its arguments, if it is not the one that the settings find."`

	Live    bool     `help:"Try what spends quota, too: turns with a model, with its tools."`
	Gate    []string `placeholder:"NAME" help:"Only this gate, and those that begin with it and a dot; may be repeated."`
	List    bool     `help:"List the gates and their criteria, and try none."`
	Through bool     `help:"Probe the agent twice, bare and with this shim in front of it, and show both side by side."`
	Compare string   `placeholder:"OLD.json" help:"Show what has changed since a report that was kept with --json."`
	Report  string   `placeholder:"FILE" help:"Show this report, which was kept with --json, and probe nothing."`

	JSON  bool `name:"json" xor:"form" help:"Print JSON."`
	MD    bool `name:"md" xor:"form" help:"Print Markdown."`
	Brief bool `help:"In the table, one line for each gate."`

	Capture string        `placeholder:"FILE" help:"Where the capture goes, a file or a directory (a file here, named by the time)."`
	Timeout time.Duration `default:"60s" help:"How long a start, or any answer, may take (${default})."`
	Turn    time.Duration `name:"turn-timeout" default:"3m" help:"How long a turn may take (${default})."`
	Cancel  time.Duration `name:"cancel-wait" default:"10s" help:"How long a cancelled turn is waited for (${default})."`
	Tool    time.Duration `name:"tool-time" default:"20s" help:"How long the command would run in which a turn is cancelled (${default})."`
	Jobs    int           `default:"2" placeholder:"N" help:"How many gates are tried at a time, each with a process of its own (${default})."`
	Config  string        `placeholder:"FILE" help:"The config file, which may name the agent."`
}

// Help is what the flags do not say.
func (probeCmd) Help() string {
	return `Each gate is a question with a criterion: of the documents that the shim was designed after, or of ACP. PASS: the criterion holds.
FALLBACK: it does not, and the line says what is done instead. FAIL: nothing can be done, or ACP is broken. NOT-RUN: the agent does not
offer it, or it would spend quota, or it needs a login. A capture of all that was said is kept; the frames that prove a verdict are
named by their number in it. Sessions are opened in a temporary directory, and deleted again where the agent can do that. With
--live it takes about fifty short turns.

  acp-shim probe                                       what costs nothing, of the installed agent
  acp-shim probe --live --json > 1.3.0.json            everything
  acp-shim probe --live --compare 1.2.1.json -- ./agy_acp_server.par --uid=
  acp-shim probe --live --through --gate D -- acp-shim sim --build 1.2.1

The exit code is 0 if nothing fails, 1 otherwise, and 2 where the agent cannot be asked. With --compare it is 1 if something has changed;
with --through it is that of the side behind the shim.`
}

func (c probeCmd) Run() error {
	if c.List {
		return c.list()
	}
	if c.Jobs < 1 || c.Jobs > 16 {
		return errors.New("--jobs must be between 1 and 16")
	}
	for name, d := range map[string]time.Duration{"timeout": c.Timeout, "turn-timeout": c.Turn, "cancel-wait": c.Cancel, "tool-time": c.Tool} {
		if d <= 0 {
			return fmt.Errorf("--%s must be above 0", name)
		}
	}
	if c.Through && c.Compare != "" {
		return errors.New("--compare looks at one report, and --through makes two: leave one of them out")
	}
	var old *probe.Report
	var err error
	if c.Compare != "" {
		// A mistake here should not be found out after all the work.
		if old, err = probe.ReadReport(c.Compare); err != nil {
			return err
		}
	}
	report, err := c.report()
	if err != nil {
		return err
	}
	if old != nil {
		return c.compared(probe.Compare(old, report))
	}
	return c.print(report)
}

// report is made, or the one that was kept.
func (c probeCmd) report() (*probe.Report, error) {
	if c.Report != "" {
		if len(c.Agent) > 0 || c.Through || c.Capture != "" {
			return nil, errors.New("--report shows what was kept: it goes with no agent, no --through and no --capture")
		}
		return probe.ReadReport(c.Report)
	}
	// Before anything is started or written.
	if err := probe.Check(c.Gate); err != nil {
		return nil, fmt.Errorf("%s; acp-shim probe --list names them", shown(err.Error()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// The first one ends the probe in order; whoever does not want to wait for that
	// sends a second one.
	defer context.AfterFunc(ctx, stop)()
	p, err := newProber(c)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if c.Through {
		if _, err := p.capturePath(true); err != nil {
			return nil, err
		}
	}
	report, err := p.run(ctx, false)
	if err == nil && c.Through && ctx.Err() == nil {
		var through *probe.Report
		if through, err = p.run(ctx, true); err != nil {
			err = fmt.Errorf("through the shim: %w", err)
		}
		report.Through = through
	}
	if err != nil {
		err = errors.New(shown(err.Error()))
	}
	return report, err
}

func (c probeCmd) print(r *probe.Report) error {
	var err error
	switch {
	case c.JSON:
		err = printPretty(stdout, r)
	case c.MD:
		err = printProbeMD(stdout, r)
	default:
		err = newProbeTable(stdout, c.Brief).print(r)
	}
	if err != nil {
		return err
	}
	if r.Through != nil {
		r = r.Through
	}
	if r.Counts()[probe.Fail] > 0 {
		return exitCode(1)
	}
	for i := range r.Gates {
		if r.Gates[i].Why == probe.WhyInterrupted {
			return exitCode(1)
		}
	}
	return nil
}

func (c probeCmd) compared(x *probe.Comparison) error {
	var err error
	switch {
	case c.JSON:
		err = printPretty(stdout, x)
	case c.MD:
		err = printComparisonMD(stdout, x)
	default:
		err = newProbeTable(stdout, c.Brief).comparison(x)
	}
	if err == nil && len(x.Changes) > 0 {
		return exitCode(1)
	}
	return err
}

func (c probeCmd) list() error {
	if c.JSON {
		return printPretty(stdout, probe.Gates())
	}
	t := newProbeTable(stdout, c.Brief)
	for _, g := range probe.Gates() {
		live := ""
		if g.Live {
			live = " (--live)"
		}
		t.line(fmt.Sprintf("%-*s  %s%s", gateWidth, g.ID, g.Title, live))
		if !c.Brief {
			t.wrapped(strings.Repeat(" ", gateWidth+2), gateWidth+2, dim, g.Criterion+" ("+g.Source+")")
		}
	}
	return t.err
}
