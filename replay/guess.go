package replay

import (
	"slices"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// guess is what a request may have been whose answer alone is known.
type guess struct {
	methods []string // nil for any
}

// empty is what is answered {} or null.
var empty = []string{
	acp.AgentMethodAuthenticate, acp.AgentMethodLogout, acp.AgentMethodSessionSetMode, "session/set_model",
	acp.AgentMethodSessionSetConfigOption, acp.AgentMethodSessionClose, acp.AgentMethodSessionDelete,
	acp.AgentMethodSessionCancel,
}

// guessOf tells from the shape of an answer what was asked. history tells that
// messages of a user's came before it, as they do when a session is loaded.
func guessOf(m *wire.Message, history bool) *guess {
	if m.Error.Found() {
		if method := gjson.GetBytes(m.Text(m.Error), "data.method").Str; method != "" {
			return &guess{[]string{method}}
		}
		return &guess{}
	}
	r := gjson.ParseBytes(m.Text(m.Result))
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return r.Get(name).Exists() })
	}
	open := []string{acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume}
	switch {
	case has("protocolVersion", "agentInfo", "agentCapabilities"):
		return &guess{[]string{acp.AgentMethodInitialize}}
	case has("sessionId"):
		return &guess{[]string{acp.AgentMethodSessionNew, acp.AgentMethodSessionFork}}
	case has("stopReason"):
		return &guess{[]string{acp.AgentMethodSessionPrompt}}
	case has("sessions"):
		return &guess{[]string{acp.AgentMethodSessionList}}
	case history || has("modes", "models"):
		return &guess{open}
	case has("configOptions"):
		return &guess{append(open, acp.AgentMethodSessionSetConfigOption)}
	case r.Type == gjson.Null || r.Raw == "{}":
		return &guess{empty}
	}
	return &guess{}
}

// guessed finds a request's block by what the block may be: of those that name
// its method the first, else of those that may be anything.
func (s *Script) guessed(l *ledger, a ask) *block {
	var any, last *block
	for _, b := range s.blocks {
		switch {
		case b.guess == nil, !a.request, a.session != nowhere && b.session != nowhere && s.sessions[a.session] && b.session != a.session:
		case slices.Contains(b.guess.methods, a.method):
			if last = b; !l.used[b.index] {
				return b
			}
		case b.guess.methods == nil && any == nil && !l.used[b.index]:
			any = b
		}
	}
	if any != nil {
		return any
	}
	return last
}
