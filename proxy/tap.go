package proxy

import (
	"time"

	"acp-shim/internal/wire"
)

// Message is one frame and what a scan found in it; see [wire.Message].
type Message = wire.Message

// Span is a range of bytes in a Message.
type Span = wire.Span

// Edit is one replacement of bytes in a frame; see [wire.Edit].
type Edit = wire.Edit

// Peer is one end of an edge: the client, the shim itself, or one agent process
// by its generation. The zero Peer is nobody: where a frame went that nobody
// received.
type Peer int32

const (
	// Nobody received it.
	Nobody Peer = 0
	// Client is the program that started the shim.
	Client Peer = -1
	// Shim is the shim itself.
	Shim Peer = -2
)

// AgentPeer is the agent process of generation gen, which counts from 1.
func AgentPeer(gen int) Peer { return Peer(gen) }

// Gen is the generation of an agent process, 0 for every other peer.
func (p Peer) Gen() int { return max(int(p), 0) }

// Frame is one line whose fate has been decided. Everything in it is valid only
// during the call that hands it over, unless it says otherwise.
type Frame struct {
	From, To Peer
	// Bytes is the line as it was sent, with its line end; where To is Nobody,
	// as it was received.
	Bytes []byte
	// Own tells that Bytes lie in memory of their own, which nobody writes to again:
	// they may be kept. It is so for large ones.
	Own bool
	// Edits are what the shim changed; undone in reverse they give back what
	// was received.
	Edits []Edit
	// Why says in a word or two why a frame was dropped, held, or made by the
	// shim. It is empty for a frame that was forwarded as a matter of course.
	Why string
	// Again tells that this line was reported before, when it was held: it is
	// now sent, and must not be counted twice as received.
	Again bool
	// Session is params.sessionId as received, where it is there.
	Session []byte
	// At tells when the line came: the same for all that one read has brought. Nil
	// where that is not known.
	At func() time.Time
	// Message is what the scan of the line found, so that a tap need not read it
	// again; nil for some that the shim made. Its Raw is not Bytes where an
	// interceptor has changed what was then dropped.
	Message *Message
}

// Event is something that happened beside the frames.
type Event struct {
	// Kind is spawn, exit, stderr, cancel, restore, note or another word.
	Kind string
	// Agent is the process that it is about, 0 for none.
	Agent int
	// Session is the session that it is about, "" for none.
	Session string
	// Text is the message, or the bytes of a line of stderr.
	Text string
	// Data is more about it, as the text of a JSON object, or nil.
	Data []byte
}

// A Tap sees every frame at the moment when its fate is decided, and every
// event, in the order of the loop's lock, and changes nothing. Its methods are
// called under that lock: they must not block and must not keep what they are
// given.
type Tap interface {
	Frame(f *Frame)
	Event(e *Event)
}
