package proxy

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"acp-shim/internal/wire"
)

// Process is a running agent as the loop needs it.
type Process interface {
	Pid() int
	// Stdin and Stdout are the shim's ends of its pipes. Where Stdin is a file
	// whose descriptor does not block, StdinFD is that, else -1.
	Stdin() io.WriteCloser
	StdinFD() int
	Stdout() Stdout
	// Done is closed when it has exited.
	Done() <-chan struct{}
	// Exit says how, after Done, when its stderr has been read.
	Exit() Exit
	// Terminate asks it to end; Kill ends it and all it started.
	Terminate()
	Kill()
	// Release closes what is still open of it.
	Release()
}

// Stdout is an agent's output. The deadline ends a read that would wait for a
// tool which outlives the agent and holds the pipe.
type Stdout interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// Store keeps what is known of sessions beyond this run. Its methods may block:
// the loop calls them from a goroutine of its own, one at a time.
type Store interface {
	// Claim makes this shim the owner of a session and returns what is
	// remembered of it, nil if nothing is. Its error is for the user.
	Claim(id string) (*Record, error)
	Save(r Record) error
	Release(id string)
	// Forget removes what is remembered of a session.
	Forget(id string)
	// Names leads from the agent's ids of sessions to the client's, for those of
	// earlier runs where they differ.
	Names() map[string]string
}

// Config is a connection between one client and its agents.
type Config struct {
	Options
	// In and Out are the client's ends.
	In  io.Reader
	Out io.Writer
	// OutFD is Out's descriptor where writing to it does not block, else -1.
	OutFD int
	// Start starts agent process gen. It may block.
	Start func(gen int) (Process, error)
	// Store may be nil: then nothing is remembered, and nothing locked.
	Store Store
	// Log may be nil.
	Log *slog.Logger
	// MaxFrame is the longest line in bytes; 0 is 256 MiB.
	MaxFrame int
}

// Loop runs a Core: it reads, writes, keeps time, and carries out what the core
// decides, with one lock around all of it. See the package documentation.
type Loop struct {
	cfg  Config
	mu   sync.Mutex
	core *Core

	out       *outbox
	dirty     []*outbox
	procs     map[int]*proc
	deadlines deadlines
	came      time.Time // what is being dealt with, zero until somebody asks
	drained   sync.Cond // a reader of an agent's may go on
	paused    int
	ballast   ballast

	store    []func()
	storing  bool
	finish   chan struct{}
	code     int
	isOver   bool
	broken   bool     // that nothing can be written to the client was told
	condemns sync.Map // generations whose processes are being ended
}

type proc struct {
	Process
	out    *outbox
	exited atomic.Bool
	over   atomic.Bool // what is still said is not its own
	term   bool
	// drowned: so much waits for it that it is ended at once.
	drowned bool
}

// pauseAbove is how much may wait for the client before agents are read no
// further: so little that the buffer for it is used again and again. blockedAbove is
// how much may wait for an agent that takes nothing.
const (
	pauseAbove = 512 << 10
	// pauseAlways is the same for an agent that owes an answer.
	pauseAlways  = 128 << 20
	blockedAbove = 64 << 20
	blockedFor   = 30 * time.Second
	quietAfter   = 100 * time.Millisecond
	// lastWords is how long the output of an agent that has exited may go on.
	lastWords = time.Second
)

// New makes a Loop. It does nothing before Run.
func New(cfg Config) *Loop {
	l := &Loop{
		cfg: cfg, procs: map[int]*proc{},
		finish: make(chan struct{}),
	}
	if l.cfg.MaxFrame <= 0 {
		l.cfg.MaxFrame = wire.DefaultMax
	}
	l.drained.L = &l.mu
	l.out = newOutbox(&l.mu, cfg.Out, cfg.OutFD)
	l.out.onError = func(err error) {
		go l.step(func() { l.unwritten(err) })
	}
	l.out.onProgress = func() { l.drained.Broadcast() }
	l.out.onEmpty = l.ballast.weigh
	if l.cfg.At == nil {
		l.cfg.At = l.at
	}
	l.core = newCore(l, l.cfg.Options)
	l.ballast = ballast{step: l.step, give: debug.FreeOSMemory}
	l.deadlines = deadlines{step: l.step, over: l.core.timer}
	return l
}

// Run carries the conversation until the client has gone and every process with
// it, or ctx is done, and returns the exit code.
func (l *Loop) Run(ctx context.Context) int {
	go l.out.run()
	l.step(l.core.start)
	go l.readClient()
	select {
	case <-l.finish:
	case <-ctx.Done():
		l.Terminate(0, "acp-shim was told to end")
		<-l.finish
	}
	l.drainOut()
	l.lastUnwritten()
	l.shut()
	return l.code
}

// Terminate ends everything at once; Run returns code. What is still open is answered
// with since, which goes on after "it has ended, since".
func (l *Loop) Terminate(code int, since string) {
	l.step(func() { l.core.terminate(code, since) })
}

// Ending tells that process gen is being ended: what it writes to stderr is not
// for the user any more.
func (l *Loop) Ending(gen int) bool {
	_, ok := l.condemns.Load(gen)
	return ok
}

// Event tells the taps that something happened outside of the conversation.
func (l *Loop) Event(e Event) { l.step(func() { l.core.event(&e) }) }

// step runs f under the lock and then sends what came of it.
func (l *Loop) step(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isOver {
		return
	}
	f()
	l.flush()
}

// at is when what is being dealt with has come. It is asked for once for all the
// frames of a read, since a look at the clock costs as much as a frame.
func (l *Loop) at() time.Time {
	if l.came.IsZero() {
		l.came = time.Now()
	}
	return l.came
}

func (l *Loop) flush() {
	for i := 0; i < len(l.dirty); i++ {
		l.dirty[i].flush()
	}
	l.dirty = l.dirty[:0]
	l.came = time.Time{}
	if l.paused > 0 {
		l.drained.Broadcast()
	}
}

// attend starts an agent and stays with it until it is gone.
func (l *Loop) attend(gen int) {
	process, err := l.cfg.Start(gen)
	if err != nil {
		l.step(func() { l.core.gone(gen, Exit{Words: err.Error(), Failed: true}) })
		return
	}
	p := &proc{Process: process}
	p.out = newOutbox(&l.mu, process.Stdin(), process.StdinFD())
	p.out.onClose = func() { process.Stdin().Close() }
	p.out.onProgress = func() { l.blocked(gen, p) }
	p.out.onEmpty = l.ballast.weigh
	p.out.onMore = func() { l.heaped(gen, p) }
	p.out.onError = func(error) {
		// An agent that is about to exit has last words, which are read first.
		time.AfterFunc(2*quietAfter, func() {
			if !p.exited.Load() {
				l.step(func() { l.core.inputEnded(gen) })
			}
		})
	}
	go p.out.run()
	l.mu.Lock()
	over := l.isOver
	if !over {
		l.procs[gen] = p
		l.core.started(gen, process.Pid())
		l.flush()
	}
	l.mu.Unlock()
	if over {
		process.Kill()
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		l.readAgent(gen, p)
	}()
	select {
	case <-read:
		// It has ended its output. An exit that goes with it follows at once.
		t := time.NewTimer(2 * quietAfter)
		select {
		case <-process.Done():
		case <-t.C:
			l.step(func() { l.core.outputEnded(gen) })
		}
		t.Stop()
		<-process.Done()
	case <-process.Done():
		p.exited.Store(true)
		process.Stdout().SetReadDeadline(time.Now().Add(quietAfter))
		l.mu.Lock()
		l.drained.Broadcast()
		l.mu.Unlock()
		// A tool that has its output may talk on and on.
		for _, end := range []func(){process.Kill, func() { p.over.Store(true) }} {
			t := time.NewTimer(lastWords)
			select {
			case <-read:
			case <-t.C:
				end()
			}
			t.Stop()
		}
		<-read
	}
	process.Kill() // what it left behind
	exit := process.Exit()
	l.mu.Lock()
	if !l.isOver {
		l.core.gone(gen, exit)
		l.flush()
	}
	delete(l.procs, gen)
	l.condemns.Delete(gen)
	p.out.discard()
	l.mu.Unlock()
	process.Release()
}

// blocked watches a queue that an agent does not take.
func (l *Loop) blocked(gen int, p *proc) {
	k := timerKey{kind: timerBlocked, gen: gen}
	if p.out.waiting() > blockedAbove {
		l.arm(k, blockedFor)
	} else {
		l.disarm(k)
	}
}

// drainOut gives the client time to take the last lines: as long as it goes on
// reading, or, once the shim is told to end, a moment.
func (l *Loop) drainOut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	deadline, taken := time.Now().Add(endLimit), l.out.written
	for told := false; l.out.waiting() > 0 && l.out.err == nil && time.Now().Before(deadline); {
		switch {
		case l.core.since != "" && !told:
			told, deadline = true, time.Now().Add(endMoment)
		case !told && l.out.written != taken:
			deadline, taken = time.Now().Add(endLimit), l.out.written
		}
		l.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		l.mu.Lock()
	}
	if n := l.out.waiting(); n > 0 && l.out.err == nil && l.core.since == "" {
		l.log(slog.LevelWarn, "the client has ended, and does not take the last of what was said", "bytes", n)
	}
	if l.code == 0 {
		l.code = l.core.code // of a signal that has come since
	}
}

// shut ends the loop's own goroutines and timers, and waits for a moment for
// processes that have just been killed. The guard sees to what is left.
func (l *Loop) shut() {
	l.mu.Lock()
	l.isOver = true
	l.deadlines.stop()
	l.ballast.stop()
	l.out.discard()
	l.drained.Broadcast()
	l.mu.Unlock()
	for range 150 {
		l.mu.Lock()
		busy := l.storing || len(l.procs) > 0
		l.mu.Unlock()
		if !busy {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
