package proxy

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"acp-shim/internal/wire"
)

// Options are what the core is told at the start.
type Options struct {
	// Chain is the list of interceptors, the one nearest to the client first.
	Chain []Interceptor
	// Taps see everything and change nothing.
	Taps []Tap
	// Policy decides from the agent's answer to initialize, the text of its
	// result, how processes are used. Nil: as a plain relay, and then nothing
	// waits for that answer.
	Policy func(result []byte) Policy
	// Guess is the policy that holds before that; it cannot be Exclusive.
	Guess Policy
	// Nonce makes the ids of the shim's own requests differ between shims that
	// are put one behind the other.
	Nonce string
	// MaxAgents bounds the processes that live at a time; 0 is 6.
	MaxAgents int
	// Standby keeps a started process waiting once one would have been used.
	Standby bool
	// IdleTimeout ends a process that nothing has used for that long; 0 never.
	IdleTimeout time.Duration
	// At tells when what is being dealt with has come, for the taps; it may be nil.
	At func() time.Time
	// Strict panics on what would be a bug of an interceptor's, for tests.
	Strict bool
}

// Limits of the core. They are the same for everybody, so that what a user sees
// does not depend on a setting that nobody would find.
const (
	termAfter  = 300 * time.Millisecond
	killAfter  = 750 * time.Millisecond
	stuckAfter = time.Second
	// hopelessAfter is how much longer a session waits for a killed process.
	hopelessAfter = 5 * time.Second
	startLimit    = 30 * time.Second
	loadLimit     = 20 * time.Second
	// openLimit is for what the client itself has asked for and waits for: its
	// first initialize, and a load or resume of its own.
	openLimit = time.Minute
	// smallLimit is for what takes an agent no time: a setting, a close.
	smallLimit = 30 * time.Second
	endLimit   = 2 * time.Second
	// endMoment is the same where the shim was told to end.
	endMoment = 100 * time.Millisecond
	// endKill is how long a process that was killed may take to be gone.
	endKill     = 200 * time.Millisecond
	endNow      = 300 * time.Millisecond
	crashWindow = 30 * time.Second
	crashLimit  = 3
	// heldLimit bounds the bytes of the client's frames that wait.
	heldLimit = 256 << 20
)

// Core owns every decision and does nothing itself: events go in, effects come
// out. It is not safe for concurrent use; the loop's lock is around it.
type Core struct {
	fx    effects
	opt   Options
	chain []Interceptor
	taps  []Tap

	policy  Policy
	decided bool   // the policy is settled
	init    []byte // the client's last initialize, as it came
	auth    []byte // the client's last authenticate that succeeded
	agent0  []byte // the last result of initialize
	opening bool   // the client's initialize waits for its answer
	gate    []*held

	agents   []*Agent // living ones, oldest first
	gen      int
	sessions map[string]*Session
	alias    map[string]*Session // by the agent's id where it differs
	spoke    *Session            // the one that byAgentID found last, nil where it must look again
	names    map[string]string   // the same of earlier runs, to the client's id
	waiting  []*held             // wait for a process to be free
	crowded  bool                // the log says that something does
	crashes  int                 // of processes that held no session, or several
	crashed  map[string]int      // of processes that held a single one, by its id

	requests idTable[*Request] // of the client, by its id
	asked    idTable[*Asked]   // of agents, by the id that the client knows
	own      map[string]*Request
	ownSeq   uint64
	seq      uint64
	askedSeq int
	heldSize int

	inputEnd bool // the client will ask for nothing more
	ending   bool // the processes have been told so
	standby  bool // a process would have been of use
	killed   bool // the processes, at the end
	finished bool
	since    string // why it ends at once; empty while it does not
	code     int    // the exit code
	lastExit string

	steps   []*Step
	msg     Message
	parser  wire.Parser // of what the agents say
	ofTools wire.ByForm[bool]
	frame   Frame
}

func newCore(fx effects, opt Options) *Core {
	if opt.MaxAgents <= 0 {
		opt.MaxAgents = 6
	}
	opt.Guess.Exclusive = false
	return &Core{
		fx: fx, opt: opt, chain: opt.Chain, taps: opt.Taps, policy: opt.Guess,
		decided:  opt.Policy == nil,
		sessions: map[string]*Session{}, alias: map[string]*Session{},
		own:      map[string]*Request{},
		crashed:  map[string]int{},
		askedSeq: 1 << 30,
	}
}

// step gives out a Step; done takes it back. Steps nest where the shim sends a
// frame of its own in the middle of one.
func (c *Core) step() *Step {
	if n := len(c.steps); n > 0 {
		s := c.steps[n-1]
		c.steps = c.steps[:n-1]
		return s
	}
	return &Step{core: c}
}

func (c *Core) done(s *Step) {
	*s = Step{core: c, verbs: s.verbs[:0]}
	c.steps = append(c.steps, s)
}

// call has one interceptor told of something that is no frame, and then carries out
// what it said.
func (c *Core) call(s *Step, at int, f func(Interceptor, *Step)) {
	s.at = at
	if c.guarded(s, f) {
		s.carryOut()
	}
	s.verbs = s.verbs[:0]
}

func (c *Core) guarded(s *Step, f func(Interceptor, *Step)) (ok bool) {
	defer func() {
		if !ok {
			c.panicked(s, recover())
		}
	}()
	f(c.chain[s.at], s)
	return true
}

// down runs the chain towards the agent, up towards the client.
func (c *Core) down(s *Step, m *Message) {
	for i := 0; i < len(c.chain) && !s.dropped; i = c.stretch(s, m, i, false) {
	}
}

func (c *Core) up(s *Step, m *Message) {
	for i := 0; i < len(c.chain) && !s.dropped; i = c.stretch(s, m, i, true) {
	}
}

// stretch passes a frame through the chain from its i-th interceptor on, in the
// frame's direction, up to the first that has something to say, which is then carried
// out. It returns where to go on. After a panic the frame and everything else are as
// they were before that interceptor's call.
//
// Nearly always it is the whole chain: a frame costs one recovery point then, and
// not one for each interceptor.
func (c *Core) stretch(s *Step, m *Message, i int, up bool) (next int) {
	next = c.silent(s, m, i, up)
	s.carryOut()
	s.verbs = s.verbs[:0]
	return next
}

func (c *Core) silent(s *Step, m *Message, i int, up bool) (next int) {
	var raw []byte
	var edits []wire.Edit
	ok := false
	defer func() {
		if ok {
			return
		}
		p := recover()
		if !c.opt.Strict {
			m.Restore(raw, edits)
		}
		next = i + 1
		c.panicked(s, p)
	}()
	for ; i < len(c.chain) && len(s.verbs) == 0; i++ {
		raw, edits = m.Raw, m.Edits()
		if up {
			s.at = len(c.chain) - 1 - i
			c.chain[s.at].FromAgent(s, m)
		} else {
			s.at = i
			c.chain[s.at].FromClient(s, m)
		}
	}
	ok = true
	return i
}

// carryOut does what an interceptor has said.
func (s *Step) carryOut() {
	for i := 0; i < len(s.verbs); i++ {
		s.verbs[i]()
	}
}

// Fatal is implemented by an interceptor that must not be passed over: when it
// panics, the process that the frame belongs to is ended.
type Fatal interface{ Fatal() }

// panicked drops what an interceptor has said before it panicked.
func (c *Core) panicked(s *Step, p any) {
	if c.opt.Strict {
		panic(p)
	}
	s.verbs = s.verbs[:0]
	c.fx.log(slog.LevelError, "an interceptor panicked; its changes are dropped",
		"interceptor", fmt.Sprintf("%T", c.chain[s.at]), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if _, fatal := c.chain[s.at].(Fatal); fatal && s.session != nil {
		c.recycle(s.session, "internal error")
	}
}

// timer is the event that a timer has run out.
func (c *Core) timer(k timerKey) {
	switch k.kind {
	case timerChain:
		s := c.step()
		c.call(s, k.gen, func(i Interceptor, s *Step) { i.Timer(s, k.name) })
		c.done(s)
	case timerTerm:
		c.fx.terminate(k.gen)
	case timerKill:
		c.fx.kill(k.gen)
	case timerStuck:
		c.stuck(k.gen)
	case timerStart:
		c.startTimeout(k.gen)
	case timerLoad:
		c.loadTimeout(k.name)
	case timerIdle:
		c.idleTimeout(k)
	case timerEnd:
		c.endTimeout()
	case timerCrash:
		c.calm(k.name)
	case timerAnswer:
		c.answerTimeout(k.gen)
	case timerBlocked:
		c.takesNothing(k.gen, "the agent took nothing for 30 s while requests for it were waiting")
	}
}

// tap reports a frame. from and to are its edge; b is as it was sent.
func (c *Core) tap(from, to Peer, b []byte, m *Message, why string, again bool) {
	if len(c.taps) == 0 {
		return
	}
	f := &c.frame
	*f = Frame{From: from, To: to, Bytes: b, Why: why, Again: again, Message: m, At: c.opt.At}
	if m != nil {
		f.Edits, f.Session = m.Edits(), m.Session
		if to == Nobody && len(f.Edits) > 0 {
			f.Bytes, f.Edits = undo(m), nil
		}
		f.Own = len(f.Bytes) > wire.Alone
	}
	for _, t := range c.taps {
		t.Frame(f)
	}
}

func (c *Core) event(e *Event) {
	for _, t := range c.taps {
		t.Event(e)
	}
}

func (c *Core) bug(format string, args ...any) {
	if c.opt.Strict {
		panic(fmt.Sprintf(format, args...))
	}
	c.fx.log(slog.LevelError, "internal error", "what", fmt.Sprintf(format, args...))
}
