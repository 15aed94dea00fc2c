package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"acp-shim/fixtures/sim"
	"acp-shim/internal/settings"
)

// cli is what acp-shim can do besides being an agent.
type cli struct {
	Run      runCmd      `cmd:"" passthrough:"" help:"Be the agent. This is what acp-shim does without a command, too."`
	Sim      simCmd      `cmd:"" passthrough:"" help:"Play the Antigravity server, build by build; see acp-shim sim --help."`
	Demo     demoCmd     `cmd:"" help:"Show the shim at work on the simulator."`
	Sessions sessionsCmd `cmd:"" help:"List, forget and repair sessions."`
	Redact   redactCmd   `cmd:"" help:"Write a capture again without its secrets."`
	Show     showCmd     `cmd:"" help:"Print a capture, one line a frame."`
	Stats    statsCmd    `cmd:"" help:"Print the figures of captures: turns, methods, traffic."`
	Search   searchCmd   `cmd:"" help:"Find text in captures."`
	View     viewCmd     `cmd:"" help:"Make a page of a capture, and open it."`
	Replay   replayCmd   `cmd:"" help:"Be the recorded agent of a capture, or drive an agent with its recorded client."`
	Diff     diffCmd     `cmd:"" help:"Say what differs between two captures of one conversation."`
	Validate validateCmd `cmd:"" help:"Hold a capture against the schema of ACP."`
	Export   exportCmd   `cmd:"" help:"Write a capture in another tool's format."`
	Import   importCmd   `cmd:"" help:"Make a capture of another tool's recording."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
	Help     helpCmd     `cmd:"" help:"Print this, or the help of a command."`
}

type runCmd struct {
	Args []string `arg:"" optional:"" help:"Settings; see acp-shim help."`
}

type simCmd struct {
	Args []string `arg:"" optional:""`
}

type demoCmd struct {
	Build string `default:"rc01" enum:"rc01,1.1.1,1.2.1,1.3.0" help:"The build to simulate (${enum})."`
	Keep  string `placeholder:"DIR" help:"Keep the capture and the agent's home there."`
}

type versionCmd struct{}

type helpCmd struct {
	Command string `arg:"" optional:"" help:"A command."`
}

func (versionCmd) Run() error {
	fmt.Println("acp-shim", version())
	return nil
}

func (h helpCmd) Run() error {
	switch h.Command {
	case "":
		printHelp(os.Stdout)
		return nil
	case "sim":
		return exitCode(sim.Main([]string{"--help"}, os.Stdin, os.Stdout, os.Stderr))
	case "run":
		printHelp(os.Stdout)
		return nil
	}
	parser, err := newParser(&cli{}, func(int) {})
	if err != nil {
		return err
	}
	for _, c := range parser.Model.Children {
		if c.Name == h.Command {
			return exitCode(command([]string{h.Command, "--help"}))
		}
	}
	return fmt.Errorf("there is no command %q; see acp-shim help", h.Command)
}

// exitCode is an error that stands for an exit code and was told about.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func newParser(c *cli, exit func(int)) (*kong.Kong, error) {
	return kong.New(c, kong.Name("acp-shim"), kong.Description("Stands between an ACP client and an ACP agent."),
		kong.Exit(exit), kong.UsageOnError())
}

// command carries out one of the commands.
func command(args []string) int {
	switch args[0] {
	case "-h", "-help", "--help":
		args = []string{"help"}
	case "-version", "--version":
		args = []string{"version"}
	case "sim":
		// Its flags are the agent's, and its own.
		return sim.Main(args[1:], os.Stdin, os.Stdout, os.Stderr)
	case "run":
		if len(args) > 1 && (args[1] == "-h" || args[1] == "-help" || args[1] == "--help") {
			args = []string{"help"}
			break
		}
		return dropIn(args[1:], false)
	}
	var c cli
	exit := -1
	parser, err := newParser(&c, func(code int) { exit = code })
	if err != nil {
		return complain(err)
	}
	ctx, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help was given
	}
	if err != nil {
		return complain(fmt.Errorf("%w; see acp-shim help", err))
	}
	err = ctx.Run()
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		return complain(err)
	}
	return 0
}

// printHelp prints what a user needs on one or two screens.
func printHelp(w io.Writer) {
	fmt.Fprint(w, `acp-shim stands between an ACP client and an ACP agent.

  acp-shim [SETTINGS] [-- AGENT [ARGS]]   be the agent that a client starts
  acp-shim demo                           see it at work on a simulated agent
  acp-shim sim [--build BUILD]            be a simulated Antigravity server
  acp-shim sessions [ID]                  list, forget and repair sessions
  acp-shim redact FILE...                 clean a capture, to show it to others
  acp-shim show FILE                      print a capture, one line a frame
  acp-shim stats FILE...                  print its figures
  acp-shim search PATTERN DIR|FILE...     find text in captures
  acp-shim view FILE                      see it drawn, in a browser
  acp-shim validate FILE                  hold its frames against ACP's schema
  acp-shim diff A B                       say what differs between two captures
  acp-shim replay FILE                    be the recorded agent of a capture
  acp-shim replay --as-client FILE -- AGENT [ARGS]
                                          drive an agent with its recorded client
  acp-shim export --format FORMAT FILE    write it for another tool
  acp-shim import FILE                    make a capture of JSON lines
  acp-shim version | help [COMMAND]

Without an agent behind --, it looks for agy_acp_server.par. In a client's
configuration, put acp-shim in the place of the agent. Under the name
agy_acp_server.par (a link) it is the agent to the last flag.

Settings, as flags, as variables (--log-level is ACP_SHIM_LOG_LEVEL) and as keys
of the config file, in this order of precedence:

`)
	for _, r := range settings.Rows() {
		name := "--" + r.Name
		switch v := r.Values(); {
		case v == "on|off" && r.Default == "on":
			name += "=on|off"
		case v == "on|off":
		case v != "":
			name += "=" + v
		}
		if len(name) > 34 {
			fmt.Fprintf(w, "  %s\n  %-34s", name, "")
		} else {
			fmt.Fprintf(w, "  %-34s", name)
		}
		help := r.Help
		if r.Many() {
			help += " (may be repeated)"
		}
		if r.Default != "" {
			help += " [" + r.Default + "]"
		}
		fmt.Fprintln(w, wrap(help, 76, 38))
	}
	fmt.Fprint(w, "\nThe agent's own flags --uid=, --[no]debug and --[no]notices are passed on.\n")
}

// wrap breaks text into lines, those behind the first one indented.
func wrap(text string, width, indent int) string {
	var b strings.Builder
	col := indent - 2
	for i, word := range strings.Fields(text) {
		if i > 0 && col+1+len(word) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent-2))
			col = indent - 2
		}
		b.WriteString(" " + word)
		col += 1 + len(word)
	}
	return b.String()
}
