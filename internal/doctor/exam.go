package doctor

import (
	"context"
	"sync"
	"time"

	"acp-shim/internal/agent"
)

// Subject is what is examined: the shim, its settings, and the agent that it would
// start.
type Subject struct {
	Version, Exe string
	// Config is the config file, "" for none; ConfigErr is what is wrong with the
	// settings.
	Config    string
	ConfigErr error
	// StateDir, LogFile and Record are paths, "" for none.
	StateDir, LogFile, Record string

	Find func() (agent.Found, error)
	// Spec completes how the agent that was found is started.
	Spec func(agent.Found) agent.Spec

	// Servers are the MCP servers that the settings inject, ServersErr what is
	// wrong with them.
	Servers    []Server
	ServersErr error

	// Runs are the files of running shims, and of those that were killed.
	Runs func() ([]Run, error)

	// Session has a session opened, which leaves a conversation behind.
	Session bool
	// Patience is how long the agent may take for an answer; 0 is 45 s.
	Patience time.Duration
}

// Server is an MCP server of the settings.
type Server struct {
	Name, URL string
	// Command is that of a server which the agent starts.
	Command string
}

// Run is a shim that runs, or that was killed.
type Run struct {
	File, ID string
	Alive    bool
	Remove   func() error
}

// Exam is one examination. What several checks need is found out once.
type Exam struct {
	*Machine
	*Subject

	found     func() (agent.Found, error)
	handshake func() *handshake
	processes func() ([]agent.Seen, error)
	runs      func() ([]Run, error)
}

// New prepares an examination.
func New(m *Machine, s *Subject) *Exam {
	if s.Patience <= 0 {
		s.Patience = 45 * time.Second
	}
	x := &Exam{Machine: m, Subject: s}
	x.found = sync.OnceValues(s.Find)
	x.processes = sync.OnceValues(m.Processes)
	x.runs = sync.OnceValues(func() ([]Run, error) {
		if s.Runs == nil {
			return nil, nil
		}
		return s.Runs()
	})
	return x
}

// Check is a row of the table.
type Check struct {
	Name string
	// Looks says what it looks at.
	Looks string
	run   func(*Exam) []Finding
}

// Checks is the table, in the order in which a person would look.
func Checks() []Check {
	return []Check{
		{"shim", "this program: its version, where it lies, whether it is on PATH", (*Exam).shim},
		{"config", "the shim's own settings", (*Exam).config},
		{"state", "the state directory: can it be written, is it private", (*Exam).state},
		{"log", "the log: can it be written, how large is it", (*Exam).log},
		{"capture", "where captures go: can it be written, is there space", (*Exam).capture},
		{"agent", "the agent's program, and all places where it was looked for", (*Exam).agent},
		{"processor", "whether the processor has what the agent needs", (*Exam).processor},
		{"harness", "the program that the agent needs beside it", (*Exam).harness},
		{"user", "the group nobody, which the agent looks up unless it is told not to", (*Exam).user},
		{"temporary", "the directory for temporary files: space, and whether programs run there", (*Exam).temporary},
		{"leftovers", "directories and files that dead processes have left", (*Exam).leftovers},
		{"orphans", "processes whose shim or client is gone", (*Exam).orphans},
		{"home", "the agent's home, GEMINI_HOME", (*Exam).geminiHome},
		{"login", "the login that the agent's settings choose, and what it needs", (*Exam).login},
		{"token", "whether a token is there, and who may read it; never what is in it", (*Exam).token},
		{"handshake", "whether the agent starts and answers", (*Exam).shakeHands},
		{"build", "which build the agent is", (*Exam).build},
		{"session", "whether a session can be opened", (*Exam).session},
		{"mcp", "the MCP servers of the shim's settings", (*Exam).servers},
		{"editors", "which editors start the shim", (*Exam).editors},
	}
}

// Run carries out all checks. Those that need the agent wait for it. told is called
// with each finding as it is made.
func (x *Exam) Run(ctx context.Context, told func(Finding)) []Finding {
	x.handshake = sync.OnceValue(func() *handshake { return x.shake(ctx) })
	var all []Finding
	for _, c := range Checks() {
		for _, f := range c.run(x) {
			f.Check = c.Name
			told(f)
			all = append(all, f)
		}
	}
	return all
}
