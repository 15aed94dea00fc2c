package rewrite

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// doneCh is in every account of the failure; the rest of its words differs.
const doneCh = "could not find doneCh"

// mend is the command that helps.
const mend = "acp-shim sessions repair "

// advise is the way out of the failures that have one.
func (r *Rewriter) advise(text, session string) string {
	if !strings.Contains(text, doneCh) || strings.Contains(text, mend) {
		return "" // another shim may have said it
	}
	return "a checkpoint of this conversation was left half-written when its process was killed; end the agent and mend it with: " + mend + r.where() + word(session)
}

// where names the home: the line is pasted into a shell that may have another one.
func (r *Rewriter) where() string {
	if r.home == "" {
		return ""
	}
	return "--home " + word(r.home) + " "
}

// word is an id as a word of a shell's: it is the client's or the agent's, and
// somebody will paste the line. A terminal obeys control characters in what is pasted
// before the shell sees the quotes.
func word(id string) string {
	if strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(id) {
		quoted := strconv.QuoteToASCII(id)
		return "$'" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), "'", `\'`) + "'"
	}
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
	advice := r.advise(string(l.text), s.Session().ID())
	if at, ok := textAt(m); ok && advice != "" {
		end := wire.Quote("; " + advice)
		m.Splice(at.End-1, 0, end[1:len(end)-1])
	}
}
