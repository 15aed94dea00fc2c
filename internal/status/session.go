package status

import (
	"slices"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// The methods that count.
const (
	mInitialize = acp.AgentMethodInitialize
	mNew        = acp.AgentMethodSessionNew
	mLoad       = acp.AgentMethodSessionLoad
	mResume     = acp.AgentMethodSessionResume
	mFork       = acp.AgentMethodSessionFork
	mPrompt     = acp.AgentMethodSessionPrompt
	mCancel     = acp.AgentMethodSessionCancel
	mClose      = acp.AgentMethodSessionClose
	mDelete     = acp.AgentMethodSessionDelete
	mUpdate     = acp.ClientMethodSessionUpdate
)

// open is the session of this name, made where it is new.
func (b *Board) open(id, cwd string) *session {
	s := b.sessions[id]
	if s == nil {
		s = &session{Session: Session{ID: id}}
		b.sessions[id] = s
		b.order = append(b.order, s)
		if len(b.order) > sessionsMax {
			b.forget()
		}
	}
	if cwd != "" {
		s.Cwd = cwd
	}
	return s
}

// forget drops the oldest session in which no turn runs.
func (b *Board) forget() {
	for i, s := range b.order {
		if s.prompts == 0 || i == len(b.order)-1 {
			b.order = slices.Delete(b.order, i, i+1)
			delete(b.sessions, s.ID)
			b.dropped++
			return
		}
	}
}

func (b *Board) close(id string) {
	s := b.sessions[id]
	if s == nil || s.prompts > 0 {
		return
	}
	delete(b.sessions, id)
	b.order = slices.DeleteFunc(b.order, func(x *session) bool { return x == s })
}

func peer(info gjson.Result) Peer {
	return Peer{Name: clip(info.Get("name").Str), Version: clip(info.Get("version").Str)}
}

// clip bounds a text of a peer's, and leaves what is kept valid.
func clip(text string) string {
	if len(text) <= textMax {
		return text
	}
	n := textMax
	for n > textMax-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
