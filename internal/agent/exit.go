package agent

import (
	"fmt"
	"os"
)

// Exit is how a process ended.
type Exit struct {
	// Code is its exit code, -1 if a signal ended it.
	Code int
	// Signal is the signal's name ("SIGKILL"), or empty.
	Signal string
	// Words is the end in words, to be put after "the agent ":
	// "exited with code 3".
	Words string
	// Expected is set if Terminate, Kill or Expect was called before the end.
	Expected bool
}

func (e Exit) String() string { return e.Words }

func exitOf(state *os.ProcessState, err error, termSent, killSent, expected bool) Exit {
	e := Exit{Code: -1, Expected: expected}
	if state == nil {
		// Somebody else waited for it, or SIGCHLD is ignored by a library.
		e.Words = fmt.Sprintf("ended in a way that the system does not tell (%v)", err)
		return e
	}
	e.Code = state.ExitCode()
	e.Signal = signalName(state)
	switch {
	case e.Signal != "":
		e.Words = "was killed by " + e.Signal + signalWords(e.Signal, termSent, killSent)
	default:
		e.Words = fmt.Sprintf("exited with code %d", e.Code) + codeWords(e.Code)
	}
	return e
}

// signalWords says what a signal usually means, as an apposition.
func signalWords(name string, termSent, killSent bool) string {
	switch name {
	case "SIGILL":
		// The agent needs AVX: on a processor or virtual machine without it
		// this is what happens at once.
		return ": an instruction that this processor does not have (AVX?)"
	case "SIGKILL":
		if killSent {
			return ", sent by the shim"
		}
		return ", not by the shim: by the system (out of memory?) or by somebody else"
	case "SIGTERM":
		if termSent {
			return ", sent by the shim"
		}
		return ", not by the shim: by somebody else"
	case "SIGSEGV", "SIGBUS":
		return ": it crashed (a memory error)"
	case "SIGABRT":
		return ": it gave up (an assertion or an uncaught error, see its stderr)"
	case "SIGFPE":
		return ": it crashed (an arithmetic error)"
	case "SIGSYS":
		return ": a system call that is not allowed here (a sandbox?)"
	case "SIGTRAP":
		return ": it stopped itself (a failed check, see its stderr)"
	case "SIGPIPE":
		return ": it wrote to a pipe that nobody reads any more"
	case "SIGXCPU", "SIGXFSZ":
		return ": over a resource limit (see ulimit -a)"
	case "SIGHUP", "SIGINT", "SIGQUIT":
		return ", not by the shim: by a terminal or somebody else"
	}
	return ""
}

// codeWords explains the codes that shells and wrappers give.
func codeWords(code int) string {
	switch code {
	case 126:
		return " (a shell's word for: the command is there but cannot be run)"
	case 127:
		return " (a shell's word for: command not found)"
	case 130, 137, 139, 143:
		return fmt.Sprintf(" (a shell's word for: its command was killed by signal %d)", code-128)
	}
	return ""
}
