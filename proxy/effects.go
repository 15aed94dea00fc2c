package proxy

import (
	"log/slog"
	"time"
)

// effects is everything that the core can have done. The loop does it for real,
// a test writes it down. No method blocks, and none calls back into the core:
// what comes of it arrives later as an event.
type effects interface {
	toClient(line []byte)
	toAgent(gen int, line []byte)
	// spawn starts an agent process; started or gone follows.
	spawn(gen int)
	// closeInput ends an agent's input behind what is queued for it.
	closeInput(gen int)
	// discard ends an agent's input at once and tells how many bytes that were
	// queued for it were never sent.
	discard(gen int) int
	// unsent is how many bytes are queued for an agent.
	unsent(gen int) int
	terminate(gen int)
	kill(gen int)
	arm(k timerKey, d time.Duration)
	disarm(k timerKey)
	// rest is disarm for a timer that is armed again when a turn is over.
	rest(k timerKey)
	// claim makes this shim the owner of a session; claimed follows.
	claim(id string)
	// recall asks for the names of sessions of earlier runs; recalled follows.
	recall()
	// save keeps a session's record; release gives up what claim got.
	save(rec Record)
	release(id string)
	// forget removes the record of a session that is deleted.
	forget(id string)
	// finished ends the loop.
	finished(code int)
	log(level slog.Level, msg string, args ...any)
}

// Record is what is remembered of a session beyond a run of the shim.
type Record struct {
	// ID is the client's name for it, Real the agent's where they differ.
	ID   string `json:"id"`
	Real string `json:"real,omitempty"`
	// Cwd is the working directory it was opened with.
	Cwd string `json:"cwd,omitempty"`
	// Agent is what the agent calls itself, "" where it does not say.
	Agent string `json:"agent,omitempty"`
	// Config are the frames' params with which the client has set the model,
	// the mode and other options, in the order in which they were last set.
	Config []Setting `json:"config,omitempty"`
}

// Setting is one thing that a client has set in a session.
type Setting struct {
	// Key tells settings apart: a config option's id, or mode or model.
	Key    string `json:"key"`
	Method string `json:"method"`
	Params string `json:"params"`
}

type timerKind uint8

const (
	timerChain   timerKind = iota // an interceptor's; gen is its index
	timerTerm                     // the ladder of process gen
	timerKill                     // the same
	timerStuck                    // the same
	timerStart                    // process gen has not become ready
	timerLoad                     // the load of session name has no answer
	timerIdle                     // session name is idle, or process gen is free
	timerEnd                      // the client is gone, processes may not last longer
	timerCrash                    // a crash is forgotten
	timerBlocked                  // process gen takes no input
	timerAnswer                   // process gen owes the answer to something small
)

type timerKey struct {
	kind timerKind
	gen  int
	name string
}
