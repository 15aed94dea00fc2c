package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/agent"
	"acp-shim/internal/client"
)

// peer is one process of the agent's, with what the client says that it offers.
type peer struct {
	r    *run
	gen  int
	conn *client.Conn
	// hello is the result of initialize, took how long that was from the spawn on.
	hello gjson.Result
	took  time.Duration
	// offers are the client capabilities that it was told.
	offers offers
	// spoiled is set where nothing should be asked of it any more.
	spoiled atomic.Bool

	mu     sync.Mutex
	seqs   []uint64 // of the connection's lines
	asked  func(method string, params gjson.Result, id string) (string, bool)
	stderr stderrCount
}

// offers is what the client does for the agent. With nothing offered the agent
// must not ask for it.
type offers struct{ files, terminal bool }

func (o offers) String() string {
	return fmt.Sprintf(`{"fs":{"readTextFile":%t,"writeTextFile":%t},"terminal":%t}`, o.files, o.files, o.terminal)
}

// stderrCount is what of stderr matters to a gate.
type stderrCount struct {
	lines, traces int
	bytes         int
	kept          int
}

// maxStderr is how much of a process's stderr goes into the capture: some agents
// dump megabytes there.
const maxStderr = 1 << 20

// idsEach is how many ids each process has to itself: in a capture an answer is
// known by its id.
const idsEach = 1000

// maxKept is how much a process may say, and be told: three of the longest lines.
const maxKept = 64 << 20

// spawn starts a process; nothing is said yet.
func (r *run) spawn(o offers, env ...string) (*peer, error) {
	r.mu.Lock()
	r.gen++
	p := &peer{r: r, gen: r.gen, offers: o}
	r.mu.Unlock()
	seq := r.tape.event("spawn", p.gen, r.opt.Path)
	c, err := client.Start(client.Options{
		Spec: agent.Spec{
			Path: r.opt.Path, Args: r.opt.Args, Env: r.opt.Env, ExtraEnv: append(slices.Clone(r.opt.ExtraEnv), env...), RunID: r.opt.RunID, Gen: p.gen,
			Dir: r.dir, Stderr: p.heard, TailSkip: r.opt.TailSkip,
		},
		Seen: p.seen, Answer: p.answer, MaxKept: maxKept, WriteTimeout: r.opt.Timeout,
		FirstID: (p.gen - 1) * idsEach,
	})
	if err != nil {
		return nil, err
	}
	p.conn = c
	r.mu.Lock()
	r.live[p] = true
	r.spawned[p.gen] = seq
	r.mu.Unlock()
	return p, nil
}

// seen is called under the connection's lock.
func (p *peer) seen(l client.Line) {
	seq := p.r.tape.line(p.gen, l)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seqs = append(p.seqs, seq)
}

func (p *peer) seqOf(index int) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if index < 0 || index >= len(p.seqs) {
		return 0
	}
	return p.seqs[index]
}

func (p *peer) heard(line []byte) {
	p.mu.Lock()
	p.stderr.lines++
	p.stderr.bytes += len(line)
	text := string(line[:min(len(line), 4<<10)])
	for _, sign := range []string{"stack trace", "Traceback", "goroutine ", "    @ "} {
		if strings.Contains(text, sign) {
			p.stderr.traces++
			break
		}
	}
	keep := p.stderr.kept+len(line) <= maxStderr
	if keep {
		p.stderr.kept += len(line)
	}
	p.mu.Unlock()
	if keep {
		p.r.tape.event("stderr", p.gen, string(line))
	}
}

func (p *peer) errors() stderrCount {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr
}

// onAsk sets what answers the agent's requests; nil allows once.
func (p *peer) onAsk(f func(method string, params gjson.Result, id string) (string, bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = f
}

func (p *peer) answer(method string, params gjson.Result, id string) (string, bool) {
	p.mu.Lock()
	f := p.asked
	p.mu.Unlock()
	if strings.HasPrefix(method, "fs/") && !p.offers.files || strings.HasPrefix(method, "terminal/") && !p.offers.terminal {
		p.r.uncalled(p, method)
	}
	if f != nil {
		if body, later := f(method, params, id); body != "" || later {
			return body, later
		}
	}
	if method == "session/request_permission" {
		return allowOnce(params), false
	}
	return client.Decline(method, params, id)
}

// allowOnce takes the option that allows once, and never one that lasts: it would
// be kept beyond the probe.
func allowOnce(params gjson.Result) string { return choose(params, "allow_once") }

func choose(params gjson.Result, kind string) string {
	for _, o := range params.Get("options").Array() {
		if o.Get("kind").Str == kind {
			return `"result":{"outcome":{"outcome":"selected","optionId":` + o.Get("optionId").Raw + `}}`
		}
	}
	return `"result":{"outcome":{"outcome":"cancelled"}}`
}

// initialize shakes hands. Its error means that there is no answer.
func (p *peer) initialize(ctx context.Context) (client.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.r.forStart())
	defer cancel()
	a, err := p.conn.Request("initialize", p.initParams("1")).Wait(ctx)
	if err == nil {
		p.hello, p.took = a.Result, a.At.Sub(p.conn.Process.Started)
	}
	return a, err
}

func (p *peer) initParams(version string) string {
	return `{"protocolVersion":` + version + `,"clientInfo":{"name":"acp-shim-probe","version":"1"},"clientCapabilities":` + p.offers.String() + `}`
}

// can looks up one of the agent's capabilities.
func (p *peer) can(path string) bool {
	v := p.hello.Get("agentCapabilities." + path)
	return v.Exists() && v.Type != gjson.False && v.Type != gjson.Null
}

// kill ends the process and all that it started at once. Its stdin is not closed
// before: that would be an end in order.
func (p *peer) kill() {
	p.conn.Process.Kill()
	p.end(0)
}

// softEnd is how long a process has to end itself once its stdin is closed.
const softEnd = time.Second

// end ends the process, softly if it is given time, and notes that.
func (p *peer) end(patience time.Duration) agent.Exit {
	p.r.mu.Lock()
	alive := p.r.live[p]
	delete(p.r.live, p)
	p.r.mu.Unlock()
	if !alive {
		return p.conn.Process.Exit()
	}
	exit := p.conn.Close(patience)
	p.r.tape.event("exit", p.gen, exit.Words)
	return exit
}

// running reports whether more can be asked of it.
func (p *peer) running() bool {
	select {
	case <-p.conn.Process.Done():
		return false
	default:
		return !p.spoiled.Load()
	}
}
