package proxy

// Request is a request of the client's, or of the shim's own, from the moment it
// arrived until it is answered.
type Request struct {
	// Method is the method as the client sent it.
	Method string

	id       []byte
	short    [24]byte // where id is, unless it is long
	session  *Session
	agent    *Agent // where it was sent; nil while it is held
	room     *Agent // where the session is to be made that it asks for
	own      func(m *Message, failure string)
	held     *held
	answered bool
	small    bool   // its process has little time for it
	early    bool   // answered, and the agent has not ended its turn yet
	order    uint64 // its place among the frames sent for its session
	sequence uint64 // its place among the client's requests
	setting  string // what it sets, by the frame as it was sent
	orig     []byte // the client's bytes, for the methods whose params are needed later
	sent     []byte // what went to the agent, where Keep asked for it
	keep     bool
	marks    map[string]any
}

// sentTo tells requests that process a has not answered.
func sentTo(a *Agent) func(*Request) bool {
	return func(r *Request) bool { return r.agent == a && (!r.answered || r.early) }
}

// waiting tells requests that the client has no answer to.
func waiting(r *Request) bool { return !r.answered }

// ID is the raw text of its id.
func (r *Request) ID() string { return string(r.id) }

// Session is the session that it names, or nil.
func (r *Request) Session() *Session { return r.session }

// Held tells that it has not been sent to an agent.
func (r *Request) Held() bool { return r.agent == nil && r.held != nil }

// Mark notes something for when the answer comes.
func (r *Request) Mark(key string, v any) {
	if r.marks == nil {
		r.marks = map[string]any{}
	}
	r.marks[key] = v
}

// Marked is what Mark noted, or nil.
func (r *Request) Marked(key string) any { return r.marks[key] }

// Keep has the bytes kept that go to the agent, for Sent.
func (r *Request) Keep() { r.keep = true }

// Sent is the frame that went to the agent, nil unless Keep asked for it.
func (r *Request) Sent() []byte { return r.sent }

// Original is the frame as the client sent it. It is kept for the methods that
// open a session or set something in it, and nil for all others.
func (r *Request) Original() []byte { return r.orig }

// Latest tells that nothing else has been sent for its session since.
func (r *Request) Latest() bool {
	return r.session == nil || r.session.order == r.order
}

// Asked is a request that an agent has made to the client.
type Asked struct {
	// Method is the agent's method.
	Method string

	agent   *Agent
	session *Session
	id      []byte // as the agent sent it
	as      []byte // as the client got it
	settled bool   // answered in the client's place, or its process is gone
}

// Agent is the process that asked.
func (a *Asked) Agent() *Agent { return a.agent }

// Session is the session that it names, or nil.
func (a *Asked) Session() *Session { return a.session }

// Settled tells that the agent waits for it no longer.
func (a *Asked) Settled() bool { return a.settled }

// held is a frame of the client's that waits, with a copy of its bytes.
type held struct {
	m       *Message
	request *Request
}

// kept are the methods of which the client's params are needed later: to open
// the session again, or to set again what was set.
func kept(method string) bool {
	switch method {
	case mNew, mLoad, mResume, mFork, mDelete, mSetMode, mSetConfig, mSetModel, mInitialize, mAuthenticate:
		return true
	}
	return false
}
