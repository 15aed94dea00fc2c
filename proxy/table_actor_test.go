package proxy_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/proxy"
)

// How long an agent takes for what it does.
const (
	startTakes  = 10 * time.Millisecond
	helloTakes  = 300 * time.Millisecond
	loadTakes   = 40 * time.Millisecond
	answerTakes = 5 * time.Millisecond
	chunkEvery  = 20 * time.Millisecond
	exitTakes   = 50 * time.Millisecond
	deathTakes  = 10 * time.Millisecond
	// undeadFor is how long a process is stuck in the kernel after SIGKILL.
	undeadFor = 3 * time.Second
	// commandLasts is the 40 s command of a report (see README.md).
	commandLasts = 40 * time.Second
)

// outcome is what an agent makes of a cancel, and of the end of its input.
type outcome struct {
	name string
	// cancel is called for the notification while a turn runs; nil for an agent
	// that makes nothing of it.
	cancel func(a *actor, t *act)
	// ends tells that the turn ends, by what the agent does alone.
	ends bool
	// own tells that the turn has its own end where the agent is asked at all.
	own bool
	// refusal is what it says of a cancel that it has no method for, and when.
	refusal string
	after   time.Duration
	// yields ends the turn by itself once the client takes a request back.
	yields bool
	// deaf lives on at the end of input and at SIGTERM, undead also at SIGKILL.
	deaf, undead bool
}

func (a *actor) settle(t *act, stop string) func() {
	return func() { a.end(t, `"result":{"stopReason":"`+stop+`"}`) }
}

// refusesNull is an answer to a notification, which has none.
const refusesNull = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found","data":{"method":"session/cancel"}}}`

var outcomes = []outcome{
	{name: "settles", ends: true, cancel: func(a *actor, t *act) { a.p.after(answerTakes, a.settle(t, "cancelled")) }},
	{name: "settles-late", ends: true, cancel: func(a *actor, t *act) {
		t.mute = true
		a.p.after(commandLasts, a.settle(t, "cancelled"))
	}},
	{name: "error-and-leak", ends: true, cancel: func(a *actor, t *act) {
		a.p.after(answerTakes, func() {
			if !t.over {
				a.update(t, "agent_message_chunk", "content", `{"type":"text","text":"context canceledThe request was canceled by the client."}`)
			}
			a.end(t, `"error":{"code":-32000,"message":"context canceled","data":null}`)
		})
	}},
	{name: "ignores"},
	{name: "wedged", cancel: func(_ *actor, t *act) { t.mute = true }, deaf: true},
	{name: "undead", deaf: true, undead: true},
	{name: "dies", ends: true, cancel: func(a *actor, _ *act) { a.p.after(2*time.Millisecond, func() { a.gone("exited with code 1") }) }},
	{name: "ends-in-the-same-moment", ends: true, own: true, cancel: func(a *actor, t *act) { a.p.after(0, a.settle(t, "end_turn")) }},
	{name: "ends-at-what-is-taken-back", yields: true},
	{name: "method-not-found", refusal: refusesNull},
	{name: "method-not-found-behind-the-end", yields: true, refusal: refusesNull, after: 2 * answerTakes},
	{name: "method-not-found-no-id", refusal: `{"jsonrpc":"2.0","error":{"code":-32601,"message":"\"Method not found\": session/cancel","data":null}}`},
}

// actor is an agent process.
type actor struct {
	p              *stage
	gen            int
	running, ended bool
	sessions       map[string]*part
	asks           int
	waits          map[string]func(m gjson.Result) // requests of its own that have no answer
}

// part is what a process knows of a session that it holds.
type part struct {
	model, mode string
	turns       int
	act         *act
}

// act is a turn.
type act struct {
	session, prompt string
	chunks          int
	mute, over      bool
}

func newActor(p *stage, gen int) *actor {
	return &actor{p: p, gen: gen, sessions: map[string]*part{}, waits: map[string]func(gjson.Result){}}
}

func (a *actor) start() {
	if a.ended {
		return
	}
	a.running = true
	a.p.w.Started(a.gen)
}

// endOfInput ends a process that can be ended softly.
func (a *actor) endOfInput() { a.leaves(!a.p.outcome.deaf, exitTakes, "exited with code 0") }
func (a *actor) terminate()  { a.leaves(!a.p.outcome.deaf, deathTakes, "exited with code 143") }
func (a *actor) kill() {
	a.leaves(!a.p.outcome.undead, deathTakes, "was killed")
	a.leaves(a.p.outcome.undead, undeadFor, "was killed")
}

func (a *actor) leaves(so bool, d time.Duration, words string) {
	if so {
		a.p.after(d, func() { a.gone(words) })
	}
}

func (a *actor) gone(words string) {
	if a.ended {
		return
	}
	a.ended = true
	a.p.note(name(a.gen), "shim", "("+words+")")
	a.p.w.Gone(a.gen, proxy.Exit{Words: words})
}

func (a *actor) says(text string) {
	if a.ended {
		return
	}
	a.p.note(name(a.gen), "shim", text)
	a.p.w.Agent(a.gen, text)
}

func (a *actor) answers(id, body string) {
	a.says(`{"jsonrpc":"2.0","id":` + id + `,` + body + `}`)
}

// update tells something of a turn, which the judge knows by its tag.
func (a *actor) update(t *act, kind, member, value string) {
	a.says(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"turn":%q,"update":{"sessionUpdate":%q,%q:%s}}}`,
		t.session, t.prompt, kind, member, value))
}

func (a *actor) say(t *act, text string) {
	a.update(t, "agent_message_chunk", "content", fmt.Sprintf(`{"type":"text","text":%q}`, text))
}

// tool tells of a tool call.
func (a *actor) tool(t *act, kind, id, status string) {
	a.update(t, kind, "toolCallId", fmt.Sprintf(`%q,"status":%q`, id+"-"+t.prompt, status))
}

// ask asks the client for something and goes on when it has the answer.
func (a *actor) ask(t *act, method, params string, then func(gjson.Result)) {
	id := fmt.Sprint(a.asks)
	a.asks++
	a.waits[id] = then
	a.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"sessionId":%q,"turn":%q%s}}`, id, method, t.session, t.prompt, params))
}

// end answers a turn's prompt.
func (a *actor) end(t *act, body string) {
	if t.over {
		return
	}
	t.over = true
	s := a.sessions[t.session]
	if strings.HasPrefix(body, `"result"`) {
		s.turns++
		a.p.store[t.session] = s.turns
	}
	s.act = nil
	a.answers(t.prompt, body)
}

// takes is a frame that the process is sent.
func (a *actor) takes(text string) {
	m := gjson.Parse(text)
	id, method := m.Get("id").Raw, m.Get("method").Str
	if !a.running || a.ended {
		a.p.fail("%s does not run and was sent something", name(a.gen))
		return
	}
	switch {
	case method == "session/cancel":
		if id != "" {
			a.p.fail("the agent was sent a cancel with an id")
		}
		if o := a.p.outcome; o.refusal != "" {
			a.p.after(o.after, func() { a.says(o.refusal) })
		} else if o.cancel != nil {
			a.p.after(0, func() {
				if s := a.sessions[m.Get("params.sessionId").Str]; s != nil && s.act != nil && !a.ended {
					o.cancel(a, s.act)
				}
			})
		}
	case id == "":
	case method == "":
		then, ok := a.waits[id]
		if !ok {
			a.p.fail("%s was sent an answer to %s, which it waits for no longer", name(a.gen), id)
			return
		}
		delete(a.waits, id)
		a.p.after(0, func() { then(m) })
	default:
		d := answerTakes
		switch method {
		case "initialize":
			d = helloTakes
		case "session/load", "session/resume":
			d = loadTakes
			a.owns(m.Get("params.sessionId").Str)
		case "session/prompt":
			d = 0
			a.owns(m.Get("params.sessionId").Str)
		}
		a.p.after(d, func() { a.does(m, id, method) })
	}
}

// owns checks that no other process that lives has the session.
func (a *actor) owns(session string) {
	for _, b := range a.p.actors {
		if b != a && !b.ended && b.sessions[session] != nil {
			a.p.fail("%s was given %s while %s has it", name(a.gen), session, name(b.gen))
		}
	}
}

const notFound = `"error":{"code":-32002,"message":"Session not found in the current GEMINI_HOME","data":null}`

// does carries a request out.
func (a *actor) does(m gjson.Result, id, method string) {
	session := m.Get("params.sessionId").Str
	s := a.sessions[session]
	switch method {
	case "initialize":
		a.answers(id, `"result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}},"agentInfo":{"name":"antigravity-acp"}}`)
		return
	case "session/new":
		a.p.made++
		session = fmt.Sprintf("s%d", a.p.made)
		a.sessions[session] = &part{model: "default", mode: "default"}
		a.answers(id, `"result":{"sessionId":"`+session+`"}`)
		return
	case "session/load", "session/resume":
		a.opens(id, method, session)
		return
	case "logout", "authenticate", "session/list":
		a.answers(id, `"result":{}`)
		return
	case "session/delete":
		if _, stored := a.p.store[session]; !stored && s == nil {
			break
		}
		delete(a.p.store, session)
		a.closes(id, session)
		return
	}
	if s == nil {
		a.answers(id, notFound)
		return
	}
	switch method {
	case "session/close":
		a.closes(id, session)
	case "session/set_config_option":
		s.model = m.Get("params.value").Str
		a.answers(id, `"result":{"configOptions":[]}`)
	case "session/set_mode":
		s.mode = m.Get("params.modeId").Str
		a.answers(id, `"result":{}`)
	case "session/prompt":
		t := &act{session: session, prompt: id}
		if s.act != nil {
			a.p.fail("%s was sent a prompt while another one runs", name(a.gen))
		}
		s.act = t
		a.plays(t, m.Get("params.prompt.0.text").Str)
	default:
		a.answers(id, `"error":{"code":-32601,"message":"Method not found","data":null}`)
	}
}

func (a *actor) opens(id, method, session string) {
	turns := a.p.store[session]
	if turns == 0 {
		a.answers(id, notFound)
		return
	}
	if a.sessions[session] == nil {
		a.sessions[session] = &part{model: "default", mode: "default", turns: turns}
	}
	if method == "session/load" {
		for range turns {
			a.say(&act{session: session, prompt: "history"}, "what was said before")
		}
	}
	a.answers(id, `"result":{}`)
}

func (a *actor) closes(id, session string) {
	if s := a.sessions[session]; s != nil {
		if s.act != nil {
			a.end(s.act, `"result":{"stopReason":"cancelled"}`)
		}
		delete(a.sessions, session)
	}
	a.answers(id, `"result":{}`)
}
