package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/cancelshim"
	"acp-shim/proxy"
	"acp-shim/rewrite"
)

// stage plays a whole conversation around a core, with a clock of its own: a
// client that a situation leads by hand, and agents that act by themselves.
// Everything that passes is kept, for the judge and for a transcript.
type stage struct {
	w     *proxy.World
	now   time.Duration
	due   []cue
	seq   int
	log   []entry
	wrong []string

	outcome outcome
	actors  map[int]*actor
	store   map[string]int // conversations: how many turns each has finished
	made    int            // sessions

	nextID   int
	open     map[string]string // the client's requests without an answer: id to method
	sent     map[string]string // all of them
	asked    map[string]gjson.Result
	finished bool
}

// cue is what happens when the clock gets there.
type cue struct {
	at  time.Duration
	seq int
	do  func()
}

// entry is one line of the transcript.
type entry struct {
	at       time.Duration
	from, to string
	text     string
	frame    gjson.Result
}

func (e entry) String() string {
	return fmt.Sprintf("%9.3fs  %-7s > %-7s %.160s", e.at.Seconds(), e.from, e.to, strings.Replace(e.text, `"jsonrpc":"2.0",`, "", 1))
}

// known is a memory in which every build ignores a cancel.
type known struct{}

func (known) Ignores(*proxy.Agent) bool    { return true }
func (known) Note(a *proxy.Agent, on bool) {}

func newStage(t *testing.T, mode string, o outcome, agents int) *stage {
	t.Helper()
	p := &stage{
		outcome: o, actors: map[int]*actor{}, store: map[string]int{},
		open: map[string]string{}, sent: map[string]string{}, asked: map[string]gjson.Result{},
	}
	cancels := cancelshim.Options{Mode: cancelshim.Mode(mode)}
	if mode == "known" {
		cancels = cancelshim.Options{Memory: known{}}
	}
	quirks, err := rewrite.New(rewrite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(quirks.Close)
	p.w = proxy.NewWorld(proxy.Options{
		MaxAgents: agents,
		Chain:     []proxy.Interceptor{cancelshim.New(cancels), quirks},
		Policy:    func(result []byte) proxy.Policy { return quirks.Policy("auto", result) },
	})
	p.w.ToClient = p.toClient
	p.w.ToAgent = func(gen int, line string) {
		line = strings.TrimSpace(line)
		p.note("shim", name(gen), line)
		p.actors[gen].takes(line)
	}
	p.w.Spawn = func(gen int) {
		p.note("shim", name(gen), "(start)")
		a := newActor(p, gen)
		p.actors[gen] = a
		p.after(startTakes, a.start)
	}
	p.w.CloseInput = func(gen int) { p.note("shim", name(gen), "(end of input)"); p.actors[gen].endOfInput() }
	p.w.Discard = func(gen int) {
		p.note("shim", name(gen), "(end of input, nothing more is heard)")
		p.actors[gen].endOfInput()
	}
	p.w.Terminate = func(gen int) { p.note("shim", name(gen), "(SIGTERM)"); p.actors[gen].terminate() }
	p.w.Kill = func(gen int) { p.note("shim", name(gen), "(SIGKILL)"); p.actors[gen].kill() }
	p.w.Claim = func(id string) { p.after(time.Millisecond, func() { p.w.Claimed(id, "") }) }
	p.w.Finished = func() { p.finished = true }
	p.w.Start()
	return p
}

func name(gen int) string { return fmt.Sprintf("agent#%d", gen) }

func (p *stage) note(from, to, text string) {
	p.log = append(p.log, entry{p.now, from, to, text, gjson.Parse(text)})
}

// fail notes what must not be, where it was seen.
func (p *stage) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.wrong = append(p.wrong, text)
	p.log = append(p.log, entry{at: p.now, from: "", to: "!!!", text: text})
}

func (p *stage) transcript() string {
	var b strings.Builder
	chunk := func(i int) bool {
		return i >= 0 && i < len(p.log) && strings.Contains(p.log[i].text, `"agent_message_chunk"`)
	}
	skipped := 0
	for i, e := range p.log {
		if chunk(i-1) && chunk(i) && chunk(i+1) {
			skipped++ // the middle of a stream
			continue
		}
		if skipped > 0 {
			fmt.Fprintf(&b, "            ... %d more\n", skipped)
			skipped = 0
		}
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// after has something happen later.
func (p *stage) after(d time.Duration, do func()) {
	p.seq++
	p.due = append(p.due, cue{p.now + d, p.seq, do})
}

func (p *stage) first() int {
	at := -1
	for i, c := range p.due {
		if at < 0 || c.at < p.due[at].at || c.at == p.due[at].at && c.seq < p.due[at].seq {
			at = i
		}
	}
	return at
}

// pass lets the next thing happen that is due by then; false if there is none.
func (p *stage) pass(until time.Duration) bool {
	i := p.first()
	d, timer := p.w.Next()
	switch {
	case i >= 0 && p.due[i].at <= until && (!timer || p.due[i].at <= p.now+d):
		c := p.due[i]
		p.due = append(p.due[:i:i], p.due[i+1:]...)
		p.w.Advance(c.at - p.now)
		p.now = c.at
		c.do()
	case timer && p.now+d <= until:
		p.now += d
		p.w.Advance(d)
	default:
		p.w.Advance(until - p.now)
		p.now = until
		return false
	}
	return true
}

// run lets time pass.
func (p *stage) run(d time.Duration) {
	for until := p.now + d; p.pass(until); {
	}
}

// patient is how long a situation waits for what must come. Nothing in a row
// takes that long.
const patient = 60 * time.Second

// gaveUp ends a row that waits in vain.
type gaveUp struct{}

// until lets time pass until something is so.
func (p *stage) until(what string, so func() bool) {
	for limit := p.now + patient; !so(); {
		if !p.pass(limit) {
			p.fail("%s did not come", what)
			panic(gaveUp{})
		}
	}
}

// toClient is what the client sees: it answers nothing by itself but what the
// shim asks of it for a terminal.
func (p *stage) toClient(text string) {
	text = strings.TrimSpace(text)
	p.note("shim", "client", text)
	m := gjson.Parse(text)
	id := m.Get("id").Raw
	switch {
	case !gjson.Valid(text):
		p.fail("the client was sent what is no protocol")
	case m.Get("method").Exists() && id != "":
		if _, taken := p.asked[id]; taken {
			p.fail("two open requests of agents have the id %s", id)
		}
		p.asked[id] = m
		switch m.Get("method").Str {
		case "terminal/kill", "terminal/release":
			p.after(time.Millisecond, func() { p.reply(id, `"result":{}`) })
		}
	case m.Get("method").Exists():
	case p.sent[id] == "":
		p.fail("%s was answered, and nobody has asked", id)
	case p.open[id] == "":
		p.fail("%s was answered twice", id)
	default:
		delete(p.open, id)
	}
}

func (p *stage) client(text string) {
	p.note("client", "shim", text)
	p.w.Client(text)
}

// request sends a request of the client's.
func (p *stage) request(method, params string) string {
	p.nextID++
	id := fmt.Sprint(p.nextID)
	p.open[id], p.sent[id] = method, method
	p.client(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// prompt sends a prompt, which an agent plays by its text.
func (p *stage) prompt(session, text string) string {
	return p.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text))
}

func (p *stage) notify(method, params string) {
	p.client(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// reply answers a request of an agent's.
func (p *stage) reply(id, body string) {
	delete(p.asked, id)
	p.client(`{"jsonrpc":"2.0","id":` + id + `,` + body + `}`)
}

// await waits for the answer to a request of the client's.
func (p *stage) await(id string) gjson.Result {
	p.until("the answer to "+id, func() bool { return p.open[id] == "" })
	_, e := p.answer(id)
	return e.frame
}

// answer is where in the transcript a request was answered; -1 if it was not.
func (p *stage) answer(id string) (int, entry) {
	for i, e := range p.log {
		if e.to == "client" && e.frame.Get("id").Raw == id && !e.frame.Get("method").Exists() {
			return i, e
		}
	}
	return -1, entry{}
}

// saw tells that the client was sent a frame with all the words in it.
func (p *stage) saw(words ...string) func() bool {
	return func() bool {
	next:
		for _, e := range p.log {
			if e.to != "client" {
				continue
			}
			for _, w := range words {
				if !strings.Contains(e.text, w) {
					continue next
				}
			}
			return true
		}
		return false
	}
}
