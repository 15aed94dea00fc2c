// Command acp-shim stands between an ACP client and an ACP agent: the client
// starts it as if it were the agent, it starts the agent, passes every frame on
// untouched but for what has to change, makes cancel work, and records.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"acp-shim/internal/agent"
	"acp-shim/internal/login"
	"acp-shim/internal/settings"
)

func main() { os.Exit(start(os.Args)) }

// start decides what the binary is this time. The guard and the drop-in agent
// come first and without a library: one must be there before anything can go
// wrong, the other is run whenever an editor opens a session.
func start(args []string) int {
	if len(args) > 1 && args[1] == agent.GuardArg {
		return agent.GuardMain(args[2:])
	}
	if login.IsBrowser(args[0]) {
		return login.BrowserMain(args)
	}
	if completes(args) {
		return completionMain(os.Stdout)
	}
	asAgent := underAgentsName(args[0])
	if !asAgent && len(args) > 1 && isCommand(args[1]) {
		return command(args[1:])
	}
	return dropIn(args[1:], asAgent)
}

func dropIn(args []string, asAgent bool) int {
	s, err := settings.Load(args, asAgent, os.Getenv)
	if err != nil {
		return complain(err)
	}
	if asAgent && asksForText(args) {
		return becomeAgent(s)
	}
	return run(s)
}

// asksForText tells arguments that are for a person: what the agent prints then
// is no protocol, and nothing is to be carried.
func asksForText(args []string) bool {
	for _, a := range args {
		switch a {
		case "-h", "-help", "--help", "-version", "--version", "--helpfull", "--helpshort":
			return true
		}
	}
	return false
}

// underAgentsName tells that the program was started as the agent, to the last flag: by
// a link that is not called like itself, such as agy_acp_server.par, or under that
// name. A file of its own that somebody has called something else is the shim.
func underAgentsName(arg0 string) bool {
	name := filepath.Base(arg0)
	if strings.HasPrefix(name, "acp-shim") {
		return false
	}
	if strings.HasPrefix(name, "agy") {
		return true
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	return err != nil || filepath.Base(self) != name
}

func isCommand(word string) bool {
	switch word {
	case "-h", "-help", "--help", "-version", "--version":
		return true
	}
	return word != "" && word[0] >= 'a' && word[0] <= 'z'
}

// complain is the only place where an error of ours is printed.
func complain(err error) int {
	if stdout.causes(err) {
		return 2 // it is told at the end
	}
	fmt.Fprintln(os.Stderr, "acp-shim:", err)
	return 2
}
