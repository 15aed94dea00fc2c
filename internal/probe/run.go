package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"acp-shim/internal/agent"
	"acp-shim/internal/client"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Options say what is probed, and how.
type Options struct {
	// Path and Args are the agent; see [agent.Find]. Env is its environment, nil
	// for this process's, ExtraEnv is added to it. RunID marks its processes; see
	// [agent.Spec].
	Path     string
	Args     []string
	Env      []string
	ExtraEnv []string
	RunID    string
	// TailSkip says which lines of stderr no error is to end with.
	TailSkip func([]byte) bool

	// Gates are the names of those that are wanted, nil for all.
	Gates []string
	// Live allows what spends quota.
	Live bool
	// Jobs is how many gates are tried at a time; 0 is one.
	Jobs int
	// Timeout is for a start and for any answer, Turn for the end of a turn.
	// Cancel is how long a cancel is waited for. 0 is a minute, three, and ten
	// seconds.
	Timeout, Turn, Cancel time.Duration
	// Tool is how long the command that is cancelled would run; 0 is 20 s.
	Tool time.Duration

	// Tap gets all that is said; see [record.Create]. Nil is nobody.
	Tap proxy.Tap
	// Secret is the token of the MCP servers that are offered (see NewSecret); it
	// is in no report. It must be kept out of the capture as well.
	Secret string
	// Stdio is the command of an MCP server: this program, in a way that makes it
	// call [ServeStdio].
	Stdio []string
	// Shim is the version that the report names.
	Shim string
	// Done is told of each gate that has been tried; calls come one at a time.
	Done func(r *Result, n, of int)
}

// NewSecret makes a token for the MCP servers.
func NewSecret() string {
	var b [16]byte
	rand.Read(b[:])
	return "probe-" + hex.EncodeToString(b[:])
}

// StartError is an agent that nothing can be asked: it does not start, or says
// nothing that is an answer.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// run is one probe.
type run struct {
	opt  Options
	ctx  context.Context
	tape *tape
	dir  string
	// nonce is what the tools of the MCP servers answer with, so that nobody can
	// guess it.
	nonce string

	// greeted is the first process, helloA its answer to initialize and cold how
	// long that took. hello is the same process until somebody takes it.
	greeted, hello *peer
	helloA         client.Answer
	cold           time.Duration

	fallbackOnce func() restored

	mu      sync.Mutex
	late    int // answers that did not come in time
	slow    int // those to initialize
	gen     int
	live    map[*peer]bool
	spawned map[int]uint64
	pool    []*peer
	held    map[*peer][]string // sessions that a process holds
	made    []string           // all sessions
	uncall  []Proof            // requests for what was not offered
	barred  *bar               // why no session can be opened
}

// bar is why gates that need a session are not run.
type bar struct{ why, text, next string }

// Run probes an agent. Its error is a *StartError, an *UnknownError, or that of
// the directory that it needs. A context that ends ends it early: what was not
// tried says so.
func Run(ctx context.Context, opt Options) (*Report, error) {
	wanted, unknown := chosen(opt.Gates)
	if len(unknown) > 0 {
		return nil, &UnknownError{unknown}
	}
	opt.defaults()
	dir, err := os.MkdirTemp("", "acp-shim-probe-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the sessions: %w; set TMPDIR to one that can be written to", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	r := &run{opt: opt, ctx: ctx, dir: dir, tape: &tape{secret: opt.Secret, tap: opt.Tap},
		live: map[*peer]bool{}, spawned: map[int]uint64{}, held: map[*peer][]string{}}
	var n [4]byte
	rand.Read(n[:])
	r.nonce = "N" + hex.EncodeToString(n[:])
	r.fallbackOnce = sync.OnceValue(r.killAndLoad)
	defer r.close()
	// Whoever interrupts a probe does not want to wait for an agent that takes
	// nothing.
	killed := make(chan struct{})
	spare := context.AfterFunc(ctx, func() {
		defer close(killed)
		r.killAll()
	})
	defer spare()

	report := &Report{Format: Format, Version: Version, Shim: opt.Shim, Time: time.Now().UTC().Truncate(time.Second), Live: opt.Live}
	if err := r.greet(); err != nil {
		return nil, err
	}
	report.Agent = r.agent()
	r.tryAll(wanted, report)
	// What is used to tidy up must not be killed in the middle of it.
	if !spare() {
		<-killed
	}
	report.Left = r.tidyUp()
	return report, nil
}

func (o *Options) defaults() {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&o.Timeout, time.Minute)
	set(&o.Turn, 3*time.Minute)
	set(&o.Cancel, 10*time.Second)
	set(&o.Tool, 20*time.Second)
	o.Jobs = max(o.Jobs, 1)
	if o.RunID == "" {
		o.RunID = agent.NewRunID()
	}
	if o.Secret == "" {
		o.Secret = NewSecret()
	}
}

// UnknownError names gates that there are not.
type UnknownError struct{ Names []string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no gate %q", strings.Join(e.Names, ", "))
}

// An agent from which an answer has not come several times is not waited for as
// long any more.
const (
	lateLimit    = 3
	latePatience = 5 * time.Second
)

func (r *run) within(d time.Duration) (context.Context, context.CancelFunc) {
	r.mu.Lock()
	if r.late >= lateLimit {
		d = min(d, latePatience)
	}
	r.mu.Unlock()
	return context.WithTimeout(r.ctx, d)
}

// forStart is how long a start may take. Those that are slow by nature are given
// their time whatever else is late.
func (r *run) forStart() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slow >= lateLimit {
		return min(r.opt.Timeout, latePatience)
	}
	return r.opt.Timeout
}

// greet starts the first process: the cold one, whose start is measured. An agent
// that does not answer here is asked nothing else.
func (r *run) greet() error {
	p, err := r.spawn(offers{})
	if err != nil {
		return &StartError{err}
	}
	a, err := p.initialize(r.ctx)
	if err != nil {
		exit := p.end(0)
		return &StartError{r.silent(p, exit, err)}
	}
	r.greeted, r.hello, r.helloA, r.cold = p, p, a, p.took
	return nil
}

// silent says in one line what an agent did instead of answering initialize.
func (r *run) silent(p *peer, exit agent.Exit, err error) error {
	var gone *client.GoneError
	var heard []string
	if n := len(r.tape.noise); n > 0 {
		heard = append(heard, fmt.Sprintf("it wrote %d lines that are no JSON-RPC, the first %q", r.tape.noisy, clip(r.tape.noise[0].Text, 80)))
	} else if r.tape.lines == 0 && !errors.As(err, &gone) {
		heard = append(heard, "it wrote nothing at all")
	} else if r.tape.lines > 0 {
		heard = append(heard, fmt.Sprintf("%s came, and none of them is the answer", some(r.tape.lines, "line")))
	}
	if tail := strings.TrimSpace(p.conn.Process.Tail()); tail != "" {
		lines := strings.Split(tail, "\n")
		heard = append(heard, fmt.Sprintf("its stderr ends with %q", r.tape.words(lines[len(lines)-1], 160)))
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted before the agent answered initialize")
	}
	text := err.Error()
	if len(heard) > 0 {
		text += "; " + strings.Join(heard, "; ")
	}
	return errors.New(text + "; is it an ACP agent, started with the arguments that it needs?")
}

func (r *run) agent() Agent {
	argv, _ := json.Marshal(map[string][]string{"args": append([]string{r.opt.Path}, r.opt.Args...)}) // of strings it cannot fail
	var clean struct{ Args []string }
	_ = json.Unmarshal(record.Redact(argv), &clean) // it is JSON as it was
	a := Agent{Argv: clean.Args}
	bounded := func(raw string) json.RawMessage {
		if raw == "" || len(raw) > 16<<10 || !json.Valid([]byte(raw)) {
			return nil
		}
		return record.Redact([]byte(raw))
	}
	a.Info = bounded(r.helloA.Result.Get("agentInfo").Raw)
	a.Capabilities = bounded(r.helloA.Result.Get("agentCapabilities").Raw)
	return a
}

// tryAll tries the gates, each in its phase, and keeps their order in the report.
func (r *run) tryAll(wanted []*gate, report *Report) {
	report.Gates = make([]Result, len(wanted))
	var told sync.Mutex
	n := 0
	try := func(i int) {
		r.try(wanted[i], &report.Gates[i])
		told.Lock()
		defer told.Unlock()
		n++
		if r.opt.Done != nil {
			r.opt.Done(&report.Gates[i], n, len(wanted))
		}
	}
	for _, ph := range []phase{first, alongside, last} {
		jobs := 1
		if ph == alongside {
			jobs = r.opt.Jobs
			r.findBar(wanted, report)
		}
		queue := make(chan int)
		var all sync.WaitGroup
		for range jobs {
			all.Go(func() {
				for i := range queue {
					try(i)
				}
			})
		}
		for i, g := range wanted {
			if g.phase == ph {
				queue <- i
			}
		}
		close(queue)
		all.Wait()
	}
}

// try puts one gate to the agent.
func (r *run) try(g *gate, res *Result) {
	*res = Result{About: g.about(), Verdict: NotRun}
	began := time.Now()
	defer func() { res.TookMS = time.Since(began).Milliseconds() }()
	r.mu.Lock()
	barred := r.barred
	r.mu.Unlock()
	t := &trial{run: r, gate: g, res: res}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.close()
		switch {
		case r.ctx.Err() != nil:
			t.skip(WhyInterrupted, "interrupted")
		case g.session && barred != nil:
			res.Next = barred.next
			t.skip(barred.why, "%s", barred.text)
		case g.live:
			t.needLive()
		}
		dir, err := os.MkdirTemp(r.dir, "s")
		if err != nil {
			t.fail("no directory for its session could be made: %v", err)
		}
		t.cwd = dir
		g.run(t)
		t.fail("the gate gave no verdict")
	}()
	<-done
}

// close gives back what the trial has used.
func (t *trial) close() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	for _, p := range t.own {
		p.end(softEnd)
	}
	for _, p := range t.lent {
		t.giveBack(p)
	}
}
