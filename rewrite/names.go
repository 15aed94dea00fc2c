package rewrite

import (
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

func authMethodID(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	m.Rename(m.Params, "method", "methodId")
}

func configID(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	if !m.Rename(m.Params, "configOptionId", "configId") {
		m.Rename(m.Params, "optionId", "configId")
	}
}

func modeID(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	m.Rename(m.Params, "mode", "modeId")
}

// agyModes are the server's modes as long as it has not listed them.
var agyModes = []string{"default", "auto_edit", "yolo"}

// modeAt finds the value that a request would set the mode to.
func modeAt(m *proxy.Message) (proxy.Span, string) {
	name := "modeId"
	if m.Method == methodSetConfig {
		if id, ok := m.At(m.Params, "configId"); !ok || m.String(id) != "mode" {
			return proxy.Span{}, ""
		}
		name = "value"
	}
	at, ok := m.At(m.Params, name)
	if !ok || !opens(m, at, '"') {
		return proxy.Span{}, ""
	}
	return at, m.String(at)
}

// offers tells that the agent itself has a mode of that name: then it is its.
func (r *Rewriter) offers(mode string) bool {
	for _, x := range r.offered() {
		if x == mode {
			return true
		}
	}
	return false
}

func (r *Rewriter) offered() []string {
	if len(r.modes) == 0 {
		return agyModes
	}
	return r.modes
}

func modeNames(r *Rewriter, _ *proxy.Step, m *proxy.Message) {
	at, mode := modeAt(m)
	to := ""
	switch mode {
	case "accept-edits", "acceptEdits":
		to = "auto_edit"
	case "bypassPermissions", "dangerously-skip-permissions":
		to = "yolo"
	}
	if to != "" && !r.offers(mode) {
		m.Set(at, wire.Quote(to))
	}
}

// noPlanMode answers a request for a mode that only reads. Whoever asks for one
// would be harmed by any of the agent's own.
func noPlanMode(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	_, mode := modeAt(m)
	if mode == "" || r.offers(mode) {
		return
	}
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(mode)) {
	case "plan", "planning", "planmode", "planonly", "readonly", "review", "reviewonly":
	default:
		return
	}
	refuse(s, "no mode that only reads", "acp-shim: this agent has no review-only mode like "+wire.Quote(mode)+
		", and none that writes was taken in its place; its modes are "+strings.Join(r.offered(), ", "),
		map[string]any{"reason": "no_review_only_mode", "modes": r.offered()})
}

// rememberModes keeps the modes that the agent lists for a session. They are
// the same for all its processes, which are started from one file.
func rememberModes(r *Rewriter, _ *proxy.Step, m *proxy.Message) {
	if !m.Result.Found() {
		return
	}
	result := gjson.ParseBytes(m.Text(m.Result))
	var modes []string
	for _, x := range result.Get("modes.availableModes").Array() {
		if id := x.Get("id").Str; id != "" && len(modes) < 64 {
			modes = append(modes, id)
		}
	}
	if len(modes) == 0 {
		for _, option := range result.Get("configOptions").Array() {
			if option.Get("id").Str != "mode" {
				continue
			}
			for _, x := range option.Get("options").Array() {
				if v := x.Get("value").Str; v != "" && len(modes) < 64 {
					modes = append(modes, v)
				}
			}
		}
	}
	if len(modes) > 0 {
		r.modes = modes
	}
}
