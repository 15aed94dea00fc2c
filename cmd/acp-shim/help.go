package main

import (
	"fmt"
	"io"
	"strings"

	"acp-shim/internal/settings"
	"acp-shim/internal/show"
)

// printHelp prints what there is, on one screen.
func printHelp(w io.Writer) {
	fmt.Fprint(w, `acp-shim stands between an ACP client and Google's Antigravity agent.
In a client's configuration, put acp-shim in the place of the agent.

  acp-shim [SETTINGS] [-- AGENT [ARGS]]   be the agent that a client starts
  acp-shim demo                           see it at work on a simulated agent

From nothing to an editor
  doctor [-- AGENT]           find what does not work, and what to do about it
  agent install|list|use|...  keep builds of the Antigravity server
  login [METHOD] | logout     log in to the agent, also without a browser
  setup [CLIENT]              put the shim into a client's configuration
While it runs
  status                      what runs: agent, sessions, cancels, events
  usage [CAPTURE|DIR]         how many tokens were used, and where
  sessions [ID]               list, forget and repair sessions
  config [--schema]           what is set, and by whom
  report                      put together what a bug report needs
What an agent can do
  probe [--live] [-- AGENT]   find out, gate by gate; compare builds
  sim [--build BUILD]         be a simulated Antigravity server
Captures (--record FILE)
  show, stats, search, view   read one: lines, figures, text, a page
  validate, diff              hold one against ACP's schema, or against another
  redact, export, import      clean one for others; other tools' formats
  replay                      be the recorded agent, or the recorded client
Besides
  completion SHELL            complete arguments in bash, zsh and fish
  version, help [COMMAND]     help run has all settings
`)
}

// printSettingsHelp prints what can be set.
func printSettingsHelp(w io.Writer) {
	fmt.Fprint(w, `acp-shim [SETTINGS] [-- AGENT [ARGS]] is the agent that a client starts.

Without an agent behind --, it looks for agy_acp_server.par. Under the name
agy_acp_server.par (a link) it is the agent to the last flag.

  acp-shim                                       with all defaults
  acp-shim --record=run.jsonl -- gemini --acp    record what another agent says
  acp-shim --bridge=http://127.0.0.1:9001/mcp --bridge-token=env:BRIDGE_TOKEN

Settings, as flags, as variables (--log-level is ACP_SHIM_LOG_LEVEL) and as keys
of the config file, in this order of precedence; acp-shim config shows them:

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
		if i > 0 && col+1+show.Width(word) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent-2))
			col = indent - 2
		}
		b.WriteString(" " + word)
		col += 1 + show.Width(word)
	}
	return b.String()
}
