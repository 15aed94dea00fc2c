package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"acp-shim/fixtures/sim"
)

// cli is what acp-shim can do besides being an agent.
type cli struct {
	Run        runCmd        `cmd:"" passthrough:"" help:"Be the agent. This is what acp-shim does without a command, too."`
	Sim        simCmd        `cmd:"" passthrough:"" help:"Play the Antigravity server, build by build; see acp-shim sim --help."`
	Demo       demoCmd       `cmd:"" help:"Show the shim at work on the simulator."`
	Doctor     doctorCmd     `cmd:"" help:"Find what keeps the shim, the agent and an editor from working together."`
	Status     statusCmd     `cmd:"" help:"Show the shims that are running."`
	Agent      agentCmd      `cmd:"" help:"Install builds of the Antigravity server; list, switch, verify and remove them."`
	Setup      setupCmd      `cmd:"" help:"Put the shim into the configuration of Zed, pi, acpx and other clients."`
	Report     reportCmd     `cmd:"" help:"Put together what a bug report needs, without secrets."`
	Sessions   sessionsCmd   `cmd:"" help:"List, forget and repair sessions."`
	Redact     redactCmd     `cmd:"" help:"Write a capture again without its secrets."`
	Show       showCmd       `cmd:"" help:"Print a capture, one line a frame."`
	Stats      statsCmd      `cmd:"" help:"Print the figures of captures: turns, methods, traffic."`
	Usage      usageCmd      `cmd:"" help:"Say how many tokens were used, by day, model and session."`
	Search     searchCmd     `cmd:"" help:"Find text in captures."`
	View       viewCmd       `cmd:"" help:"Make a page of a capture, and open it."`
	Replay     replayCmd     `cmd:"" help:"Be the recorded agent of a capture, or drive an agent with its recorded client."`
	Diff       diffCmd       `cmd:"" help:"Say what differs between two captures of one conversation."`
	Validate   validateCmd   `cmd:"" help:"Hold a capture against the schema of ACP."`
	Export     exportCmd     `cmd:"" help:"Write a capture in another tool's format."`
	Import     importCmd     `cmd:"" help:"Make a capture of another tool's recording."`
	Probe      probeCmd      `cmd:"" help:"Find out what an agent can do, gate by gate."`
	ProbeMCP   probeMCPCmd   `cmd:"" name:"probe-mcp" hidden:""`
	Login      loginCmd      `cmd:"" help:"Log in to the agent, also without a browser."`
	Logout     logoutCmd     `cmd:"" help:"Have the agent forget its login."`
	Config     configCmd     `cmd:"" help:"Say what is set, and by whom; print the schema of the config file."`
	Completion completionCmd `cmd:"" help:"Print what your shell needs to complete arguments."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Help       helpCmd       `cmd:"" help:"Print this, or the help of a command."`
}

type runCmd struct {
	Args []string `arg:"" optional:"" help:"Settings; see acp-shim help run."`
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
	Command []string `arg:"" optional:"" help:"A command, such as login or agent install."`
}

func (versionCmd) Run() error {
	fmt.Fprintln(stdout, "acp-shim", version())
	return nil
}

func (h helpCmd) Run() error {
	name := strings.Join(h.Command, " ")
	switch name {
	case "":
		printHelp(stdout)
		return nil
	case "sim":
		return exitCode(sim.Main([]string{"--help"}, os.Stdin, stdout, os.Stderr))
	case "run":
		printSettingsHelp(stdout)
		return nil
	}
	parser, err := newParser(&cli{}, func(int) {})
	if err != nil {
		return err
	}
	node := parser.Model.Node
	for _, word := range h.Command {
		at := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
		if at < 0 {
			return fmt.Errorf("there is no command %q; see acp-shim help", name)
		}
		node = node.Children[at]
	}
	return exitCode(carryOut(append(h.Command, "--help")))
}

// exitCode is an error that stands for an exit code and was told about.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func newParser(c *cli, exit func(int)) (*kong.Kong, error) {
	return kong.New(c, kong.Name("acp-shim"), kong.Writers(stdout, os.Stderr), kong.Description("Stands between an ACP client and an ACP agent."),
		kong.Exit(exit), kong.UsageOnError())
}

// command carries out one of the commands. One that could not print all that it had to
// say has failed, whatever it did.
func command(args []string) int {
	code := carryOut(args)
	if err := stdout.end(); err != nil {
		return complain(fmt.Errorf("not all of the output could be written: %w", err))
	}
	return code
}

func carryOut(args []string) int {
	switch args[0] {
	case "-h", "-help", "--help":
		args = []string{"help"}
	case "-version", "--version":
		args = []string{"version"}
	case "sim":
		// Its flags are the agent's, and its own.
		return sim.Main(args[1:], os.Stdin, os.Stdout, os.Stderr)
	case probeShim:
		return beProbed(args[1:])
	case "run":
		if len(args) > 1 && (args[1] == "-h" || args[1] == "-help" || args[1] == "--help") {
			args = []string{"help", "run"}
			break
		}
		return dropIn(args[1:], false)
	}
	args, words := splitDashes(args)
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
		return complain(usageError(err))
	}
	err = ctx.Run(behindDashes(words))
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		return complain(err)
	}
	return 0
}

// splitDashes takes an agent's command, behind --, off the arguments of the commands
// that have an argument of their own before it.
func splitDashes(args []string) (own, words []string) {
	if i := slices.Index(args, "--"); i > 0 && (args[0] == "login" || args[0] == "logout") {
		return args[:i], args[i+1:]
	}
	return args, nil
}
