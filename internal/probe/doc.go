// Package probe finds out what an ACP agent can do: it starts the agent, plays a
// client, and holds what comes back against a table of gates.
//
// A gate is a question with a criterion (from the documents that the shim was
// designed after, or one sentence of ACP's), and a function that puts it to the
// agent. Its verdict is PASS, FALLBACK (it does not do that, and what can be done
// instead works), FAIL or NOT-RUN, with a figure, the facts that were seen, and
// the frames that prove it, by their seq in the capture.
//
// The package owns the gates, the sentences that a model is asked with, the MCP
// servers that it offers, and the form of a report. It leaves no process, no
// directory and, where the agent lets it, no conversation behind. It must not
// know how a report is printed, and no names of one agent's models, modes or
// tools: it takes what the agent lists. What an agent says is not trusted: it is
// bounded here, and cleaned by whoever prints it.
//
// # Goroutines
//
//	a trial    one a gate, at most Options.Jobs at a time; every wait in it has a
//	           limit, and its end (runtime.Goexit) gives back what it started
//	a process  internal/client's reader and internal/agent's
package probe
