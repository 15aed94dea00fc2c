package status

import "time"

// Status is what a shim says of itself.
type Status struct {
	PID     int       `json:"pid"`
	Run     string    `json:"run,omitempty"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	// Profile is the setting; Exclusive tells that every session has a process of
	// its own, which the setting or the agent's name has decided.
	Profile   string `json:"profile,omitempty"`
	Exclusive bool   `json:"exclusive"`
	// Recording is the capture that is written, if one is.
	Recording string `json:"recording,omitempty"`
	// Goroutines is how many the shim had when this was written.
	Goroutines int `json:"goroutines"`

	Client Peer   `json:"client"`
	Agent  Agent  `json:"agent"`
	Cancel Cancel `json:"cancel"`
	Tokens Tokens `json:"tokens"`

	Turns  Turns  `json:"turns"`
	Counts Counts `json:"counts"`

	Processes []Process `json:"processes"`
	// Sessions are the newest ones; SessionsLeftOut is how many more there are.
	Sessions        []Session `json:"sessions"`
	SessionsLeftOut int       `json:"sessionsLeftOut,omitempty"`
	Events          []Event   `json:"events"`
}

// Peer is what a program calls itself.
type Peer struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Agent is what is known of the agent: its file, and what it calls itself.
type Agent struct {
	Path string `json:"path,omitempty"`
	Peer
	Protocol int `json:"protocol,omitempty"`
}

// What is known of a build's cancel.
const (
	Honoured = "honoured"
	Ignored  = "ignored"
	Unknown  = "unknown"
)

// Cancel is what became of the cancels that the agent was sent.
type Cancel struct {
	// State is Ignored where this build is known for it, also by earlier runs;
	// Honoured where it has honoured the last one of this run; else Unknown.
	State string `json:"state"`
	// Honoured and Late count this run's: late is one that the agent has not
	// honoured before it was answered in its place.
	Honoured int `json:"honoured"`
	Late     int `json:"late"`
}

// Tokens tells whether this build was ever seen to report tokens, and where.
type Tokens struct {
	// Reported is known from the first report on, also of earlier runs.
	Reported bool   `json:"reported"`
	Where    string `json:"where,omitempty"`
	// Context tells that the only figures are of how full the context is.
	Context bool `json:"context,omitempty"`
}

// Turns are prompts and their answers.
type Turns struct {
	Running   int `json:"running"`
	Done      int `json:"done"`
	Cancelled int `json:"cancelled"` // of those that are done
	Failed    int `json:"failed"`    // the same
}

// Counts are figures of the whole run.
type Counts struct {
	// Starts are processes, Kills those that the shim has ended: for a cancel,
	// because they hung, because nothing used them. Crashes are those that have
	// ended by themselves.
	Starts  int `json:"starts"`
	Kills   int `json:"kills"`
	Crashes int `json:"crashes"`
	// Loads are sessions that the client has opened again, Restores those that the
	// shim has, in another process.
	Loads    int `json:"loads"`
	Restores int `json:"restores"`
	// Reconnects are processes beyond the first, of all sessions together.
	Reconnects int `json:"reconnects"`
}

// Process is one that runs.
type Process struct {
	Agent   int       `json:"agent"` // its generation, which counts from 1
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Session is one that the client has opened.
type Session struct {
	ID  string `json:"id"`
	Cwd string `json:"cwd,omitempty"`
	// Agent is the process that was last used for it.
	Agent      int        `json:"agent,omitempty"`
	Turns      int        `json:"turns"`
	Running    bool       `json:"running"`
	Since      *time.Time `json:"since,omitempty"` // when the running turn began
	Reconnects int        `json:"reconnects"`
}

// Event is something that has happened.
type Event struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Agent   int       `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"`
	Text    string    `json:"text,omitempty"`
}
