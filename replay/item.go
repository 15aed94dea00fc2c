package replay

import (
	"time"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/internal/wire"
)

// side is who sent a frame.
type side uint8

const (
	client side = iota
	agent
)

// item is one frame of the recording, as its receiver or sender on the chosen wire
// saw it.
type item struct {
	ref
	t       time.Duration
	line    int32 // in the capture
	conn    int32 // ids and turns of different connections are told apart
	link    int32 // of a request its answer, of an answer its request, -1 for none
	block   int32 // that it begins, -1 for none
	side    side
	kind    wire.Kind
	method  string
	id      string // of $/cancel_request, the id that it names
	session string // of the answer to session/new, the one that was made
}

// items are a list that grows without being copied, and without leaving behind
// what it was copied from.
type items struct {
	chunks [][]item
	n      int32
}

const itemChunk = 1 << 12

func (l *items) at(i int32) *item { return &l.chunks[i/itemChunk][i%itemChunk] }

func (l *items) add(it item) {
	if l.n%itemChunk == 0 {
		size := itemChunk
		if l.n == 0 {
			size = 64 // most recordings are small
		}
		l.chunks = append(l.chunks, make([]item, 0, size))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, it)
	l.n++
}

// cancelRequest is JSON-RPC's own way of cancelling, which names a request; ACP
// took it over.
const cancelRequest = "$/cancel_request"

// opensTurn tells the requests during which an agent speaks in a session of its
// own accord.
func opensTurn(method string) bool {
	switch method {
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionPrompt:
		return true
	}
	return false
}

// makesSession tells the requests whose answer names a session.
func makesSession(method string) bool {
	return method == acp.AgentMethodSessionNew || method == acp.AgentMethodSessionFork
}

// opensSession tells the requests that bring a session's id with them and need
// not have seen it before.
func opensSession(method string) bool {
	return method == acp.AgentMethodSessionLoad || method == acp.AgentMethodSessionResume
}

// stepKind is what a step of a block is.
type stepKind uint8

const (
	// send sends the item.
	send stepKind = iota
	// awaitAnswer waits for the client's answer; the item is the recorded one.
	awaitAnswer
	// awaitCancel waits for a session/cancel, awaitCancelRequest for a
	// $/cancel_request; the item is the recorded one.
	awaitCancel
	awaitCancelRequest
	// cutOff answers that the recording ends before the answer; the item is the
	// last one that was said.
	cutOff
)

func (k stepKind) waits() bool { return k != send && k != cutOff }

type step struct {
	item int32
	kind stepKind
}

// block is a frame of the client's and what the agent had to say to it; see
// the package's documentation.
type block struct {
	index   int32
	trigger int32 // the client's item, -1 where the client's side is not known
	method  string
	session string // of its frames: of session/new the one that it made
	made    string // the session that its answer made
	cwd     string // params.cwd
	steps   []step

	request  bool // it wants an answer
	answered bool // and got one
	cut      bool // the end of the recording was before that
	plain    key  // of its params, see keys
	moved    key
	wild     bool // there are markers in its params

	guess *guess // of a capture of one side
}

// nowhere is the session of what belongs to no session.
const nowhere = ""
