package proxy

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// agentState is how far a process is. The order counts: from condemned on, what
// it says touches nothing.
type agentState uint8

const (
	starting     agentState = iota // being started
	fresh                          // runs, and has been sent no initialize
	initializing                   // has been sent one
	ready
	condemned // is being ended
	dead
)

func (s agentState) String() string {
	return [...]string{"starting", "fresh", "initializing", "ready", "condemned", "dead"}[s]
}

// Agent is one agent process, as data.
type Agent struct {
	// Stuck tells that it was killed and is still there.
	Stuck bool

	gen           int
	pid           int
	state         agentState
	booting       bool // the shim's own initialize has no answer yet
	sessions      []*Session
	reserved      int     // sessions that are being made in it
	open          int     // requests of the client that it has not answered
	small         int     // those among them that take no time
	queue         []*held // wait for it to take frames
	asked         []*Asked
	info          []byte // the result of initialize
	name, version string
	cause         string // why it was condemned, in words for an error
	why           string // the same, in a word or two
	exit          string // how it ended, in words
	stderr        string // its last lines
	retire        bool   // not wanted any more, and being started
	soft          bool   // it is given time to end
	paused        bool   // its output is not read, since too much waits for the client
	full          bool   // so much waits for it that the client's frames were refused
	unsent        int    // bytes that were queued for it and never sent
	stale         string // why it is to be ended once it runs nothing
}

// Gen is the process's generation, which counts from 1.
func (a *Agent) Gen() int { return a.gen }

// Info is the text of its result of initialize, nil before that.
func (a *Agent) Info() []byte { return a.info }

// Build is what it calls itself and its version in that result, "" each where it
// does not say.
func (a *Agent) Build() (name, version string) { return a.name, a.version }

// introduced takes its result of initialize.
func (a *Agent) introduced(result []byte) {
	a.info = bytes.Clone(result)
	info := gjson.GetBytes(result, "agentInfo")
	a.name, a.version = strings.Clone(info.Get("name").Str), strings.Clone(info.Get("version").Str)
}

// Condemned tells that it is being ended or has ended.
func (a *Agent) Condemned() bool { return a.state >= condemned }

// Paused tells that its output is not read for now, since too much waits for the
// client. It may have said anything by then.
func (a *Agent) Paused() bool { return a.paused }

// Owes tells that its output must be read whatever the client takes: it owes an
// answer that something waits for.
func (a *Agent) owes() bool {
	if a.booting || a.state == initializing {
		return true
	}
	for _, s := range a.sessions {
		if s.cancelling || s.state == Opening || s.state == Restoring {
			return true
		}
	}
	return false
}

// cancelling tells that a turn of it is being cancelled: some die of that, and
// nothing is wrong with them otherwise.
func (a *Agent) cancelling() bool {
	for _, s := range a.sessions {
		if s.cancelling {
			return true
		}
	}
	return false
}

// takes tells that frames may be sent to it.
func (a *Agent) takes() bool { return a.state > starting && a.state < condemned && !a.booting }

// free tells that a session may be opened in it.
func (a *Agent) free() bool {
	return a.state < condemned && len(a.sessions) == 0 && a.reserved == 0 && !a.retire
}

func (a *Agent) attach(s *Session) {
	for _, x := range a.sessions {
		if x == s {
			return
		}
	}
	a.sessions = append(a.sessions, s)
}

func (a *Agent) detach(s *Session) {
	for i, x := range a.sessions {
		if x == s {
			a.sessions = append(a.sessions[:i:i], a.sessions[i+1:]...)
			return
		}
	}
}

// waitsFor tells that it has a request of this id of its own open.
func (a *Agent) waitsFor(id []byte) bool {
	for _, x := range a.asked {
		if bytes.Equal(x.id, id) {
			return true
		}
	}
	return false
}

func (a *Agent) forget(x *Asked) {
	for i, y := range a.asked {
		if x == y {
			a.asked = append(a.asked[:i:i], a.asked[i+1:]...)
			return
		}
	}
}
