package proxy_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/cancelshim"
	"acp-shim/proxy"
)

var (
	schedules = flag.Int("schedules", 3000, "how many random schedules TestRandom plays")
	firstSeed = flag.Int("first-seed", 0, "the seed of its first one")
)

// TestRandom plays short schedules of everything that can happen, in random
// order, against promises that are kept by books of the test's own: what a client
// and agents can see for themselves.
func TestRandom(t *testing.T) {
	for seed := range *schedules {
		if !playRandom(t, uint64(*firstSeed+seed)) {
			return
		}
	}
}

func playRandom(t *testing.T, seed uint64) (ok bool) {
	o := newOracle(seed)
	defer func() {
		p := recover()
		if p != nil {
			o.fail("panic: %v", p)
		}
		if len(o.failures) > 0 {
			ok = false
			t.Errorf("seed %d (max-agents %d):\n%s\n%s", seed, o.maxAgents, strings.Join(o.log, "\n"), strings.Join(o.failures, "\n"))
		}
	}()
	o.w.Start()
	for range 10 + o.IntN(70) {
		if len(o.failures) > 0 {
			return true
		}
		o.event()
	}
	o.calm()
	if o.IntN(2) == 0 {
		for range o.IntN(12) {
			o.event() // the end comes in the middle of something
		}
	}
	o.end()
	return true
}

// oracle plays a client, agents and the system, and knows what must be true.
type oracle struct {
	*rand.Rand
	w         *proxy.World
	log       []string
	failures  []string
	maxAgents int
	stalls    bool // turns that fall silent are ended
	relay     bool // one process has all sessions, and none is ever ended

	// The client's side.
	nextID   int
	open     map[string]string // its requests without an answer: id to method
	answered map[string]bool
	known    []string // sessions it knows of
	asked    map[string]bool
	prompts  map[string]string // the sessions that its requests name, by id
	mine     map[string]bool   // sessions that it has opened, or asked for
	strays   map[string]bool   // prompts for others
	begun    bool              // initialize was answered well

	// The agents' side.
	agents   map[int]*player
	claims   []string
	exist    map[string]bool // conversations that can be loaded
	sessions int
	tags     int
	sent     map[string]bool // prompts that an agent was sent
	last     map[string]int  // by session, the last prompt that was sent
	live     string          // the tag that must reach the client in this call
	arrived  bool
	dead     map[string]bool // tags that must not reach it
	finished bool
	over     bool // the client's input has ended
}

type player struct {
	gen             int
	running, gone   bool
	condemned       bool // its input is closed or it was told to end
	silenced        bool // what it says must touch nothing
	requests        []call
	holds           map[string]bool
	loading         map[string]bool
	asks            int
	killed, ignores bool
	wedged          bool // its turns never end
	broken          bool // it has not begun well, or has done what a process is ended for
}

// next is the first request from the i-th on that it will answer, -1 for none.
func (a *player) next(i int) int {
	for ; i < len(a.requests); i++ {
		if !a.wedged || !a.requests[i].turn {
			return i
		}
	}
	return -1
}

// stray is the id of answers to nothing.
const stray = "99999"

type call struct {
	id, method, session string
	turn                bool // a prompt for a session that the process has
}

func newOracle(seed uint64) *oracle {
	r := rand.New(rand.NewPCG(seed, 7))
	o := &oracle{
		Rand: r, maxAgents: 1 + r.IntN(4),
		open: map[string]string{}, answered: map[string]bool{}, asked: map[string]bool{}, prompts: map[string]string{}, mine: map[string]bool{}, strays: map[string]bool{},
		agents: map[int]*player{}, exist: map[string]bool{"x1": true, "x2": true}, known: []string{"x1", "x2", "nope"},
		sent: map[string]bool{}, last: map[string]int{}, dead: map[string]bool{},
	}
	mode := cancelshim.Auto
	if r.IntN(4) == 0 {
		mode = cancelshim.Emulate
	}
	cancel := cancelshim.Options{Mode: mode}
	if r.IntN(3) == 0 {
		cancel.Stall = 300 * time.Millisecond
		cancel.StallAction = []cancelshim.StallAction{cancelshim.StallLog, cancelshim.StallSettle, cancelshim.StallRecycle}[r.IntN(3)]
		o.stalls = cancel.StallAction != cancelshim.StallLog
	}
	o.relay = r.IntN(5) == 0
	opt := proxy.Options{
		Chain: []proxy.Interceptor{cancelshim.New(cancel)},
		Policy: func([]byte) proxy.Policy {
			return proxy.Policy{Exclusive: !o.relay, DropNoise: true, Close: r.IntN(2) == 0}
		},
		MaxAgents: o.maxAgents, Standby: r.IntN(2) == 0,
	}
	if r.IntN(3) == 0 {
		opt.IdleTimeout = 200 * time.Millisecond
	}
	o.w = proxy.NewWorld(opt)
	o.w.ToClient, o.w.ToAgent = o.toClient, o.toAgent
	o.w.Spawn = func(gen int) {
		o.note("spawn %d", gen)
		o.agents[gen] = &player{gen: gen, holds: map[string]bool{}, loading: map[string]bool{}, ignores: o.IntN(4) == 0, wedged: o.stalls && !o.relay && o.IntN(3) == 0, broken: true}
	}
	o.w.CloseInput = func(gen int) { o.note("close %d", gen); o.agents[gen].condemned = true }
	o.w.Discard = func(gen int) {
		o.note("discard %d", gen)
		if o.relay && !o.over && !o.agents[gen].broken {
			o.fail("a relay's process %d is ended", gen)
		}
		o.agents[gen].condemned, o.agents[gen].silenced = true, true
	}
	o.w.Terminate = func(gen int) { o.note("terminate %d", gen); o.agents[gen].condemned = true }
	o.w.Kill = func(gen int) {
		o.note("kill %d", gen)
		o.agents[gen].condemned, o.agents[gen].killed = true, true
	}
	o.w.Claim = func(id string) { o.claims = append(o.claims, id) }
	o.w.Finished = func() { o.note("finished"); o.finished = true }
	return o
}

func (o *oracle) note(format string, args ...any) {
	o.log = append(o.log, fmt.Sprintf(format, args...))
}
func (o *oracle) fail(format string, args ...any) {
	o.failures = append(o.failures, "FAILED: "+fmt.Sprintf(format, args...))
	o.note("^^^ "+format, args...)
}

// toClient checks what the client can see.
func (o *oracle) toClient(line string) {
	o.note("  client< %s", strings.TrimSpace(line))
	m := gjson.Parse(line)
	id := m.Get("id").Raw
	if id == stray || id == "null" || !gjson.Valid(line) {
		return // an agent's noise, which passes while the profile is not known
	}
	switch {
	case strings.Contains(line, "-32000"):
		o.fail("the shim made a -32000")
	case m.Get("method").Exists() && id != "":
		if o.asked[id] {
			o.fail("two open requests of agents have the id %s", id)
		}
		o.asked[id] = true
	case !m.Get("method").Exists():
		switch {
		case o.answered[id]:
			o.fail("%s was answered twice", id)
		case o.open[id] == "":
			o.fail("%s was answered and never asked", id)
		}
		if o.open[id] == "session/new" {
			if s := m.Get("result.sessionId").Str; s != "" {
				o.known = append(o.known, s)
				o.mine[s] = true
			}
		}
		switch o.open[id] {
		case "session/load", "session/resume":
			if m.Get("error").Exists() {
				o.stray(o.prompts[id])
			}
		case "session/close", "session/delete":
			o.stray(o.prompts[id])
		}
		if o.open[id] == "initialize" && m.Get("result").Exists() {
			o.begun = true
		}
		delete(o.open, id)
		o.answered[id] = true
	}
	tag := m.Get("params.tag").Str
	if tag == "" {
		return
	}
	if o.dead[tag] {
		o.fail("%s reached the client, and its process was ended before it said it", tag)
	}
	if tag == o.live {
		if o.arrived {
			o.fail("%s arrived twice", tag)
		}
		o.arrived = true
	}
	if p := m.Get("params.prompt").Raw; p != "" {
		if o.answered[p] && !(o.relay && o.stalls) { // there the next prompt goes on at once
			o.fail("an update of the turn of %s came after its answer", p)
		}
		if got := m.Get("params.sessionId").Str; got != o.prompts[p] {
			o.fail("an update of %s has the session %s", o.prompts[p], got)
		}
	}
}

// stray notes that what was asked of a session is for one that is not open: the
// agent may be asked to say so, whichever process that is.
func (o *oracle) stray(session string) {
	o.mine[session] = false
	for id, method := range o.open {
		if method == "session/prompt" && o.prompts[id] == session {
			o.strays[id] = true
		}
	}
}

// toAgent checks what the agents can see.
func (o *oracle) toAgent(gen int, line string) {
	o.note("  agent%d< %s", gen, strings.TrimSpace(line))
	a := o.agents[gen]
	m := gjson.Parse(line)
	c := call{id: m.Get("id").Raw, method: m.Get("method").Str, session: m.Get("params.sessionId").Str}
	if a == nil || !a.running || a.gone {
		o.fail("process %d does not run and was sent something", gen)
		return
	}
	if c.method == "" || c.id == "" {
		return
	}
	c.turn = c.method == "session/prompt" && a.holds[c.session]
	a.requests = append(a.requests, c)
	switch c.method {
	case "session/prompt":
		if o.sent[c.id] {
			o.fail("the prompt %s was sent twice", c.id)
		}
		o.sent[c.id] = true
		if o.strays[c.id] {
			return
		}
		s, n := o.prompts[c.id], int(gjson.Parse(c.id).Int())
		if n < o.last[s] {
			o.fail("the prompt %d of %s was sent after %d", n, s, o.last[s])
		}
		o.last[s] = n
		o.owner(a, c.session)
	case "session/load", "session/resume":
		o.owner(a, c.session)
		a.loading[c.session] = true
		for s := range a.holds {
			if s != c.session && !o.relay {
				o.fail("process %d holds %s and was sent a load of %s", gen, s, c.session)
			}
		}
	}
}

// owner checks that nobody else that lives has the session.
func (o *oracle) owner(a *player, session string) {
	if o.relay {
		return // nobody has a session there but the one process, and nothing is brought back
	}
	for _, b := range o.agents {
		if b != a && !b.gone && (b.holds[session] || b.loading[session]) {
			o.fail("process %d was sent a frame for %s while process %d has it", a.gen, session, b.gen)
		}
	}
}
