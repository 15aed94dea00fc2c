// Package usage finds the tokens that an agent reports, wherever it puts them,
// and adds them up per session.
//
// Most builds of the Antigravity server report none; a later one may, in a place
// that nobody knows yet. So the package looks for any figure with the name of
// one, outside of what tools say, and remembers the first of each build: that a
// build reports usage at all, and in which frame.
//
// It owns the names and meanings of figures, and the one form that all of them are
// brought into (Tokens). It changes no frame, but for the standard fields that it
// adds where that is asked for (Options.Normalise).
package usage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Latch keeps, per build, the first frame that carried a figure, or that carried
// tokens where earlier ones had only the context's size. Its methods run under the
// loop's lock and must not block.
type Latch interface {
	Latched(build string) (First, bool)
	Latch(build string, first First)
}

// First is the first figure of a build.
type First struct {
	// Frame is the method or the kind of update that carried it.
	Frame string `json:"frame"`
	// Path is the names down to it, Value the figure.
	Path  string  `json:"path"`
	Value float64 `json:"value"`
}

// Context tells that the figure is no tokens of a turn: ACP's usage_update has only how
// full the context is, and a cost, unless an agent adds some under a name of its own.
func (f First) Context() bool {
	return f.Frame == "usage_update" && !strings.Contains(f.Path, "oken")
}

// Turn is what one turn has used, when it is over.
type Turn struct {
	Session, Model, Build string
	Tokens                Tokens
	// Totals are the session's, with this turn.
	Totals Totals
}

// Options say what else is done with figures.
type Options struct {
	// Latch may be nil.
	Latch Latch
	// Turn is told of each turn in which something was reported, under the loop's
	// lock. It may be nil.
	Turn func(Turn)
	// Normalise tells, by whether the session's agent is the Antigravity server's
	// kind, whether a prompt's result gets the standard fields where an agent has
	// only its own. Nil never does.
	Normalise func(exclusive bool) bool
}

// Watch is the interceptor.
type Watch struct {
	proxy.Base
	opt      Options
	known    map[string]First // of builds that are latched
	sessions map[string]*watched
	forms    wire.ByForm[bool]
}

// watched is one session.
type watched struct {
	Session
	model string // that the session has
	turn  Tokens // of the turn that runs
	ran   string // the model that they fell to, where the agent says so
	some  bool   // something was reported in it
}

// New makes the interceptor.
func New(opt Options) *Watch {
	return &Watch{opt: opt, known: map[string]First{}, sessions: map[string]*watched{}}
}

// Sessions gives the totals by session, as a copy, for those that have any. It must
// be called under the loop's lock or after its end.
func (w *Watch) Sessions() map[string]Totals {
	all := make(map[string]Totals, len(w.sessions))
	for id, t := range w.sessions {
		if t.Totals != (Totals{}) {
			all[id] = t.Totals
		}
	}
	return all
}

// Summary is the totals as JSON, nil while there are none.
func (w *Watch) Summary() []byte {
	all := w.Sessions()
	if len(all) == 0 {
		return nil
	}
	b, err := json.Marshal(map[string]any{"usage": all})
	if err != nil {
		return nil
	}
	return b
}

// words are those one of which every frame with a figure has in it: a cheap look
// before a close one. Nothing that is in every chunk, such as "message", may
// have one in it, and none begins with a quote: a search stops at each byte that
// is like its first.
var words = [][]byte{[]byte("_meta"), []byte("usage")}

func mayCountIn(m *proxy.Message) bool { return mayCount(m.Raw) }

func mayCount(raw []byte) bool {
	for _, w := range words {
		if bytes.Contains(raw, w) {
			return true
		}
	}
	return false
}

// FromClient remembers a model that the client sets.
func (w *Watch) FromClient(s *proxy.Step, m *proxy.Message) {
	if m.Kind != wire.Request || s.Session() == nil {
		return
	}
	if model := ModelSet(m.Method, m.Text(m.Params)); model != "" {
		s.Request().Mark(markModel, model)
	}
}

const markModel = "usage.model"

// FromAgent looks for figures.
func (w *Watch) FromAgent(s *proxy.Step, m *proxy.Message) {
	update := m.Method == acp.ClientMethodSessionUpdate
	if !update && (m.Kind != wire.Response || s.Request() == nil) {
		return
	}
	sess := s.Session()
	if !update && m.Result.Found() && SetsModel(s.Request().Method) {
		w.answered(s, m)
	}
	if w.forms.Of(m, mayCountIn) && (update || m.Result.Found()) {
		w.reported(s, m)
	}
	if sess != nil && !update && s.Request().Method == acp.AgentMethodSessionPrompt {
		w.over(s, m, w.of(sess.ID()))
	}
}

// answered remembers the model that an answer names, or that it confirms.
func (w *Watch) answered(s *proxy.Step, m *proxy.Message) {
	result := m.Text(m.Result)
	id := ""
	if sess := s.Session(); sess != nil {
		id = sess.ID()
	} else if id = gjson.GetBytes(result, "sessionId").Str; id == "" {
		return
	}
	model := ModelIn(result)
	if set, ok := s.Request().Marked(markModel).(string); ok {
		model = set
	}
	if model != "" {
		w.of(id).model = model
	}
}

// reported takes what a frame reports.
func (w *Watch) reported(s *proxy.Step, m *proxy.Message) {
	frame, list, soFar := figures(s, m)
	if len(list) == 0 {
		return
	}
	first := list[0]
	if strings.HasSuffix(first.Path, ".size") && len(list) > 1 {
		first = list[1] // the window's size is no usage
	}
	w.see(s, frame, first)
	sess := s.Session()
	if sess == nil {
		return
	}
	r, ok := Read(m.Raw)
	if !ok {
		r = reportOf(list, !soFar)
	}
	t := w.of(sess.ID())
	t.turn = t.turn.Plus(t.Add(r, s.Agent().Gen()))
	t.ran = cmp.Or(r.Model(), t.ran)
	t.some = true
	if !r.Standard && r.HasTokens && m.Kind == wire.Response && s.Request().Method == acp.AgentMethodSessionPrompt &&
		w.opt.Normalise != nil && w.opt.Normalise(s.Exclusive()) {
		m.Add(m.Result, "usage", t.Standard())
	}
}

// over closes the books of a turn.
func (w *Watch) over(s *proxy.Step, m *proxy.Message, t *watched) {
	t.Turns++
	if t.some && w.opt.Turn != nil {
		w.opt.Turn(Turn{s.Session().ID(), cmp.Or(t.ran, t.model), buildOf(s.Agent()), t.turn, t.Totals})
	}
	t.turn, t.ran, t.some = Tokens{}, "", false
}

// figures finds what a frame reports, in all places that are known or likely,
// and whether it is the session's so far or this turn's.
func figures(s *proxy.Step, m *proxy.Message) (frame string, list []Number, soFar bool) {
	if m.Method == acp.ClientMethodSessionUpdate {
		p := gjson.ParseBytes(m.Text(m.Params))
		u := p.Get("update")
		frame = u.Get("sessionUpdate").Str
		if frame == "usage_update" {
			list = numbers(u, "update", true, 0, nil)
		} else {
			list = numbers(u.Get("_meta"), "update._meta", false, 0, nil)
			list = numbers(u.Get("usage"), "update.usage", true, 0, list)
		}
		return frame, numbers(p.Get("_meta"), "params._meta", false, 0, list), true
	}
	r := gjson.ParseBytes(m.Text(m.Result))
	frame = s.Request().Method
	if usage := r.Get("usage"); usage.IsObject() {
		return frame, numbers(usage, "result.usage", true, 0, nil), true
	}
	// Gemini's and codex' _meta.quota is this turn's.
	return frame, numbers(r.Get("_meta"), "result._meta", false, 0, nil), false
}

func (w *Watch) of(session string) *watched {
	t := w.sessions[session]
	if t == nil {
		t = &watched{}
		w.sessions[session] = t
	}
	return t
}

func buildOf(a *proxy.Agent) string {
	name, version := a.Build()
	return name + " " + version
}

// see latches the first figure of a build.
func (w *Watch) see(s *proxy.Step, frame string, n Number) {
	build := buildOf(s.Agent())
	has, ok := w.known[build]
	if !ok && w.opt.Latch != nil {
		if has, ok = w.opt.Latch.Latched(build); ok {
			w.known[build] = has
		}
	}
	first := First{Frame: frame, Path: n.Path, Value: n.Value}
	if ok && (!has.Context() || first.Context()) {
		return
	}
	w.known[build] = first
	s.Log(slog.LevelInfo, "this build reports tokens", "build", build, "frame", frame, "path", n.Path)
	s.Event(proxy.Event{Kind: "note", Agent: s.Agent().Gen(), Text: "tokens are reported in " + frame + " at " + n.Path})
	if w.opt.Latch != nil {
		w.opt.Latch.Latch(build, first)
	}
}
