package status

import (
	"os"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

const (
	// eventsMax is how many events are kept, sessionsMax how many sessions, and
	// askedMax how many requests that have no answer yet.
	eventsMax   = 20
	sessionsMax = 100
	askedMax    = 10_000
	// textMax is the longest text that is kept, in bytes; what comes from a peer
	// may be of any length.
	textMax = 200
	// every is the time from a change to its write.
	every = 250 * time.Millisecond
)

// Sink is where a status is written; nil for a place that keeps nothing.
type Sink interface {
	Write(v any) error
	End()
}

// Options say what a Board cannot see for itself.
type Options struct {
	Run, Version, Profile string
	// Path is the agent's file, "" where none was found, and Recording the path of the
	// capture that is written now. Ignores and Tokens tell what is known of a build, by
	// its name and version. All of them are called where Snapshot is, most of all in
	// the Board's own goroutine, and may be nil.
	Path      func() string
	Recording func() string
	Ignores   func(build string) bool
	Tokens    func(build string) Tokens
	// Open opens the sink, and opens it again after a write that has failed. It is
	// called from the Board's goroutine, and may block. Warn is told the first error.
	Open func() (Sink, error)
	Warn func(error)
	// Clock tells the time; nil is time.Now.
	Clock func() time.Time
}

// Board is a tap that keeps count; see the package documentation.
type Board struct {
	opt    Options
	wake   chan struct{}
	ending chan struct{}
	done   chan struct{}
	once   sync.Once

	mu       sync.Mutex
	now      Status
	dirty    bool
	sessions map[string]*session
	order    []*session // oldest first
	dropped  int
	asked    map[string]asked // of the client, by the text of its id
	alive    map[int]*Process
	condemn  map[int]bool // processes that the shim is ending
	last     bool         // the agent has honoured the last cancel
	scratch  wire.Message
}

var _ proxy.Tap = (*Board)(nil)

// session is a Session with what is known only here.
type session struct {
	Session
	prompts   int  // that are open
	cancelled bool // the agent was told to cancel the turn that runs
}

// asked is a request of the client's that has no answer yet.
type asked struct {
	method, session, cwd string
	sent                 bool // a prompt that has gone to the agent
}

// New makes a Board and starts its goroutine, which Close ends.
func New(opt Options) *Board {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	b := &Board{opt: opt, wake: make(chan struct{}, 1), ending: make(chan struct{}), done: make(chan struct{}),
		sessions: map[string]*session{}, asked: map[string]asked{}, alive: map[int]*Process{}, condemn: map[int]bool{}}
	b.now = Status{PID: os.Getpid(), Run: opt.Run, Version: opt.Version, Profile: opt.Profile, Started: opt.Clock().UTC(),
		Cancel: Cancel{State: Unknown}}
	b.dirty = true
	b.wake <- struct{}{}
	go b.run()
	return b
}

// changed must be called with the lock held. It never blocks.
func (b *Board) changed() {
	if b.dirty {
		return
	}
	b.dirty = true
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Frame counts what matters of a frame.
func (b *Board) Frame(f *proxy.Frame) {
	m := f.Message
	if m == nil {
		if f.From != proxy.Shim {
			return
		}
		// What the shim makes itself is rare, and small.
		b.mu.Lock()
		defer b.mu.Unlock()
		m = &b.scratch
		m.Parse(f.Bytes)
		b.frame(f, m)
		m.Raw = nil
		return
	}
	if m.Method == mUpdate {
		return // the stream
	}
	b.mu.Lock()
	b.frame(f, m)
	b.mu.Unlock()
}

func (b *Board) frame(f *proxy.Frame, m *proxy.Message) {
	switch {
	case m.Kind == wire.Response && f.To == proxy.Client:
		if len(b.asked) > 0 {
			b.answered(f, m)
		}
	case m.Kind == wire.Response || m.Method == "":
	case f.From == proxy.Client && m.Kind == wire.Request && !f.Again:
		b.asks(m)
		fallthrough
	default:
		if f.To.Gen() > 0 {
			b.toAgent(f, m)
		}
	}
}

// asks notes a request of the client's whose answer says something.
func (b *Board) asks(m *proxy.Message) {
	switch m.Method {
	case mInitialize:
		info := gjson.GetBytes(m.Text(m.Params), "clientInfo")
		b.now.Client = peer(info)
		b.changed()
	case mNew, mLoad, mResume, mPrompt, mClose, mDelete, mFork:
	default:
		return
	}
	if len(b.asked) >= askedMax {
		return
	}
	a := asked{method: m.Method, session: clip(string(m.Session))}
	switch m.Method {
	case mNew, mLoad, mResume:
		a.cwd = clip(gjson.GetBytes(m.Text(m.Params), "cwd").Str)
	}
	b.asked[string(m.Text(m.ID))] = a
}

// toAgent sees what goes to a process: which one a session has, and which turn
// begins or is cancelled.
func (b *Board) toAgent(f *proxy.Frame, m *proxy.Message) {
	if len(m.Session) == 0 {
		return
	}
	s := b.sessions[clip(string(m.Session))]
	if m.Method == mPrompt && m.Kind == wire.Request {
		id := string(m.Text(m.ID))
		a, ok := b.asked[id]
		if ok && !a.sent && f.From == proxy.Client {
			a.sent = true
			b.asked[id] = a
			s = b.open(a.session, "")
			b.prompted(s)
		}
	}
	if s == nil {
		return
	}
	if m.Method == mCancel && s.prompts > 0 {
		s.cancelled = true
	}
	if gen := f.To.Gen(); gen != s.Agent {
		if s.Agent != 0 {
			s.Reconnects++
			b.now.Counts.Reconnects++
		}
		s.Agent = gen
		b.changed()
	}
}

func (b *Board) prompted(s *session) {
	s.prompts++
	b.now.Turns.Running++
	if s.prompts == 1 {
		at := b.opt.Clock().UTC()
		s.Running, s.Since, s.cancelled = true, &at, false
	}
	b.changed()
}

// answered sees what the client gets for a request.
func (b *Board) answered(f *proxy.Frame, m *proxy.Message) {
	id := m.Text(m.ID)
	a, ok := b.asked[string(id)]
	if !ok {
		return
	}
	delete(b.asked, string(id))
	good := m.Result.Found()
	switch a.method {
	case mInitialize:
		if good {
			r := gjson.ParseBytes(m.Text(m.Result))
			b.now.Agent.Peer = peer(r.Get("agentInfo"))
			b.now.Agent.Protocol = int(r.Get("protocolVersion").Int())
		}
	case mNew, mFork:
		if id := gjson.GetBytes(m.Text(m.Result), "sessionId").Str; good && id != "" {
			s := b.open(clip(id), a.cwd)
			s.Agent = f.From.Gen()
		}
	case mLoad, mResume:
		if good {
			b.now.Counts.Loads++
			s := b.open(a.session, a.cwd)
			if gen := f.From.Gen(); gen > 0 {
				s.Agent = gen
			}
		}
	case mClose, mDelete:
		if good {
			b.close(a.session)
		}
	case mPrompt:
		b.turnOver(f, m, a, good)
	}
	b.changed()
}

func (b *Board) turnOver(f *proxy.Frame, m *proxy.Message, a asked, good bool) {
	if !a.sent {
		return // held, and never seen by an agent
	}
	stop := ""
	if good {
		stop = gjson.GetBytes(m.Text(m.Result), "stopReason").Str
	}
	b.now.Turns.Running--
	b.now.Turns.Done++
	switch {
	case !good:
		b.now.Turns.Failed++
	case stop == "cancelled":
		b.now.Turns.Cancelled++
	}
	s := b.sessions[a.session]
	if s == nil {
		return
	}
	s.Turns++
	if s.cancelled {
		switch {
		case f.From.Gen() > 0 && stop == "cancelled":
			b.now.Cancel.Honoured++
			b.last = true
		case f.From == proxy.Shim:
			b.now.Cancel.Late++
			b.last = false
		}
	}
	if s.prompts--; s.prompts <= 0 {
		s.prompts, s.Running, s.Since, s.cancelled = 0, false, nil, false
	}
}
