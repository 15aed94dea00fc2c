// Package usage finds the tokens that an agent reports, wherever it puts them,
// and adds them up per session.
//
// Most builds of the Antigravity server report none; a later one may, in a place
// that nobody knows yet. So the package looks for any figure with the name of
// one, outside of what tools say, and remembers the first of each build: that a
// build reports usage at all, and in which frame.
//
// It owns the names and meanings of figures. It changes no frame.
package usage

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Latch keeps, per build, the first frame that carried a figure. Its methods
// run under the loop's lock and must not block.
type Latch interface {
	Latched(build string) bool
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

// Watch is the interceptor.
type Watch struct {
	proxy.Base
	latch    Latch
	known    map[string]bool // builds that are latched
	sessions map[string]*Totals
}

// New makes the interceptor; latch may be nil.
func New(latch Latch) *Watch {
	return &Watch{latch: latch, known: map[string]bool{}, sessions: map[string]*Totals{}}
}

// Sessions gives the totals by session, as a copy. It must be called under the
// loop's lock or after its end.
func (w *Watch) Sessions() map[string]Totals {
	all := make(map[string]Totals, len(w.sessions))
	for id, t := range w.sessions {
		all[id] = *t
	}
	return all
}

// Summary is the totals as JSON, nil while there are none.
func (w *Watch) Summary() []byte {
	if len(w.sessions) == 0 {
		return nil
	}
	b, err := json.Marshal(map[string]any{"usage": w.Sessions()})
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

func mayCount(raw []byte) bool {
	for _, w := range words {
		if bytes.Contains(raw, w) {
			return true
		}
	}
	return false
}

// FromAgent looks for figures.
func (w *Watch) FromAgent(s *proxy.Step, m *proxy.Message) {
	prompt := m.Kind == wire.Response && s.Request() != nil && s.Request().Method == acp.AgentMethodSessionPrompt && s.Session() != nil
	if prompt {
		w.of(s.Session().ID()).Turns++
	}
	if m.Method != acp.ClientMethodSessionUpdate && (m.Kind != wire.Response || !m.Result.Found()) || !mayCount(m.Raw) {
		return
	}
	frame, list, soFar := figures(s, m)
	if len(list) == 0 {
		return
	}
	if sess := s.Session(); sess != nil {
		t := w.of(sess.ID())
		t.take(list, soFar)
		if frame == "usage_update" {
			u := gjson.GetBytes(m.Text(m.Params), "update")
			if x := u.Get("used"); figure(x) {
				t.Used = int64(x.Num)
			}
			if x := u.Get("size"); figure(x) {
				t.Size = int64(x.Num)
			}
		}
	}
	first := list[0]
	if strings.HasSuffix(first.Path, ".size") && len(list) > 1 {
		first = list[1] // the window's size is no usage
	}
	w.see(s, frame, first)
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
	if s.Request() != nil {
		frame = s.Request().Method
	}
	if usage := r.Get("usage"); usage.IsObject() {
		return frame, numbers(usage, "result.usage", true, 0, nil), true
	}
	// Gemini's and codex' _meta.quota is this turn's.
	return frame, numbers(r.Get("_meta"), "result._meta", false, 0, nil), false
}

func (w *Watch) of(session string) *Totals {
	t := w.sessions[session]
	if t == nil {
		t = &Totals{}
		w.sessions[session] = t
	}
	return t
}

// see latches the first figure of a build.
func (w *Watch) see(s *proxy.Step, frame string, n Number) {
	info := gjson.GetBytes(s.Agent().Info(), "agentInfo")
	build := info.Get("name").Str + " " + info.Get("version").Str
	if w.known[build] {
		return
	}
	w.known[build] = true
	if w.latch != nil && w.latch.Latched(build) {
		return
	}
	s.Log(slog.LevelInfo, "this build reports tokens", "build", build, "frame", frame, "path", n.Path)
	s.Event(proxy.Event{Kind: "note", Agent: s.Agent().Gen(), Text: "tokens are reported in " + frame + " at " + n.Path})
	if w.latch != nil {
		w.latch.Latch(build, First{Frame: frame, Path: n.Path, Value: n.Value})
	}
}
