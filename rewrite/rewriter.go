package rewrite

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Options set a Rewriter up.
type Options struct {
	// Quirks switches rows of the table: "name=off", "name=on".
	Quirks []string
	// Rules are the user's own, nil for none; SetRules replaces them.
	Rules *Rules
	// Home is where the agent keeps its things, for advice, where that is not where
	// it would be looked for; else "".
	Home string
	// Learned keeps what the oracle has learned beyond this run; may be nil.
	Learned Learned
}

// Rewriter applies the quirks and the user's rules.
type Rewriter struct {
	proxy.Base
	on    map[string]bool
	home  string
	agy   atomic.Bool // read by Noise outside of the lock
	rules atomic.Pointer[Rules]

	down map[string][]row // by the client's method
	up   map[string][]row // by the agent's method
	back map[string][]row // by the client's method that is answered

	always []row // for every answer
	oracle bool

	// Owned by the loop's lock.
	found    rows
	turns    map[*proxy.Session]*turn
	last     turnOf
	seen     look // at the frame of the step
	forms    wire.ByForm[form]
	modes    []string        // that the agent offers
	noModel  map[string]bool // builds that answered set_model with -32601
	learned  Learned
	renames  map[string]*renames // by build
	renaming sync.WaitGroup
}

// row is what a quirk does to one kind of frame.
type row = func(r *Rewriter, s *proxy.Step, m *proxy.Message)

// rows are those of a method, as they were looked up last: a frame mostly has the
// method of the one before, and an answer that of its request.
type rows struct {
	method         string
	down, up, back []row
}

var noRows rows

func (r *Rewriter) rows(method string) *rows {
	if r.found.method != method {
		if len(method) > 64 {
			return &noRows // it is the peer's own, and as long as a frame may be
		}
		r.found = rows{method, r.down[method], r.up[method], r.back[method]}
	}
	return &r.found
}

// New makes a Rewriter. The error is for the user.
func New(opt Options) (*Rewriter, error) {
	on, err := switches(opt.Quirks)
	if err != nil {
		return nil, err
	}
	r := &Rewriter{
		on: on, home: opt.Home, down: map[string][]row{}, up: map[string][]row{}, back: map[string][]row{},
		turns: map[*proxy.Session]*turn{}, noModel: map[string]bool{},
		learned: opt.Learned, renames: map[string]*renames{},
	}
	r.rules.Store(opt.Rules)
	began := false
	for _, q := range Quirks() {
		if !on[q.Name] {
			continue
		}
		for _, method := range q.requests {
			if method == methodPrompt {
				// Several rows follow a turn; it begins once.
				if began {
					continue
				}
				began = true
			}
			r.down[method] = append(r.down[method], q.down)
		}
		for _, method := range q.says {
			r.up[method] = append(r.up[method], q.up)
		}
		for _, method := range q.answers {
			r.back[method] = append(r.back[method], q.back)
		}
	}
	r.always, r.oracle = r.back["*"], on["oracle"]
	return r, nil
}

// SetProfile tells whether the agent is the Antigravity server: only then do
// the quirks apply.
func (r *Rewriter) SetProfile(agy bool) { r.agy.Store(agy) }

// SetRules replaces the user's rules. It may be called at any time.
func (r *Rewriter) SetRules(rules *Rules) { r.rules.Store(rules) }

// Close waits until what was learned is written. The loop must be over.
func (r *Rewriter) Close() { r.renaming.Wait() }

// FromClient applies the quirks to a request, then what was learned of the
// build, then the rules.
func (r *Rewriter) FromClient(s *proxy.Step, m *proxy.Message) {
	rules := r.rules.Load()
	method := m.Method // rules go by what the client calls it
	if r.agy.Load() && m.Kind == wire.Request {
		for _, f := range r.rows(method).down {
			f(r, s, m)
			if refused(s) {
				return
			}
		}
		if r.oracle {
			r.applyLearned(s, m)
			r.keep(s, m)
		}
	}
	if rules != nil {
		if m.Kind == wire.Response && s.Asked() != nil {
			method = s.Asked().Method
		}
		rules.apply(m, method, rulesToAgent)
	}
}

// FromAgent applies the quirks to what the agent says, then the rules.
func (r *Rewriter) FromAgent(s *proxy.Step, m *proxy.Message) {
	rules := r.rules.Load()
	method := m.Method
	if m.Kind == wire.Response && s.Request() != nil {
		method = s.Request().Method
	}
	if r.agy.Load() {
		r.seen = look{} // the reader's buffer is used again, or given back
		list := r.rows(method).up
		if m.Kind == wire.Response {
			list = r.rows(method).back
		}
		for _, f := range list {
			f(r, s, m)
		}
		if m.Kind == wire.Response && s.Request() != nil {
			for _, f := range r.always {
				f(r, s, m)
			}
		}
	}
	if rules != nil {
		rules.apply(m, method, rulesToClient)
	}
}

// Exit forgets the turns of a process that is gone; their prompts are answered
// without passing the chain.
func (r *Rewriter) Exit(s *proxy.Step, a *proxy.Agent) {
	for sess := range r.turns {
		if sess.Agent() == a || sess.Agent() == nil {
			delete(r.turns, sess)
			r.last = turnOf{}
		}
	}
}

// refuse answers a request in the agent's place. A request of the shim's own
// goes on: its refusal is for the agent to say.
func refuse(s *proxy.Step, why, text string, data any) {
	if s.Own() || s.Request() == nil {
		return
	}
	s.Request().Mark(markRefused, true)
	s.Drop(why)
	s.Answer(s.Request(), proxy.ErrorBody(codeInvalidParams, text, data), why)
}

const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602

	markRefused = "rewrite: refused"
	markModel   = "rewrite: model"  // set_model went out as set_config_option
	markResent  = "rewrite: resent" // it was sent once more already
)

func refused(s *proxy.Step) bool {
	return s.Request() != nil && s.Request().Marked(markRefused) != nil
}

// build is what the agent calls its version, "" if it does not say.
func build(s *proxy.Step) string {
	if s.Agent() == nil {
		return ""
	}
	_, version := s.Agent().Build()
	return version
}

func info(s *proxy.Step, msg string, args ...any) { s.Log(slog.LevelInfo, msg, args...) }
