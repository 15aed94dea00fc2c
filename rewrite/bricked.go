package rewrite

import (
	"bytes"
	"strings"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// doneCh is in every account of the failure; the rest of its words differs.
const doneCh = "could not find doneCh"

// advise is the way out of the failures that have one.
func (r *Rewriter) advise(text, session string) string {
	if !strings.Contains(text, doneCh) {
		return ""
	}
	return "a checkpoint of this conversation was left half-written when its process was killed; end the agent and mend it with: acp-shim sessions repair " + r.where() + word(session)
}

// where names the home: the line is pasted into a shell that may have another one.
func (r *Rewriter) where() string {
	if r.home == "" {
		return ""
	}
	return "--home " + word(r.home) + " "
}

// word is an id as a word of a shell's: it is the client's or the agent's, and
// somebody will paste the line.
func word(id string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/-", r)
	}
	if id != "" && id[0] != '-' && strings.TrimFunc(id, plain) == "" {
		return id
	}
	return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
}

// brickedError puts the way out behind the message of an error.
func brickedError(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	if !m.Error.Found() || s.Session() == nil {
		return
	}
	advice := r.advise(string(m.Text(m.Error)), s.Session().ID())
	if advice == "" {
		return
	}
	if at, ok := m.At(m.Error, "message"); ok {
		m.Set(at, wire.Quote(m.String(at)+"; "+advice))
	}
}

// brickedText does the same where the failure is the text of a turn.
func brickedText(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	l := r.look(m)
	if s.Session() == nil || meansFailure(l.text) == nil || !bytes.Contains(l.text, []byte(doneCh)) {
		return
	}
	if at, ok := textAt(m); ok {
		end := wire.Quote("; " + r.advise(doneCh, s.Session().ID()))
		m.Splice(at.End-1, 0, end[1:len(end)-1])
	}
}
