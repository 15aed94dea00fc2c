package wire

import "bytes"

// Parser parses the frames of a stream as [Message.Parse] does, and faster where they
// repeat themselves: a chunk of an answer differs from the one before in nothing but
// its text. Such a frame is compared with the earlier one and not scanned again.
type Parser struct {
	known [Forms]template
	next  int
	last  int
	forms uint32
}

// Forms is how many forms of frames are known at a time: those of a few sessions that
// stream side by side, and of thoughts among them.
const Forms = 8

// template is the form of a frame: all but the one string that differs.
type template struct {
	head, tail []byte // up to the opening quote, and from the closing one on
	message    Message
}

// maxTemplate is the longest form that is kept, in bytes: those of chunks are short.
const maxTemplate = 1 << 10

// textKey stands before the string that differs. A quote within a string has a
// backslash before it, so that in a frame that can be scanned this is a key and the
// beginning of its value, wherever it stands.
var textKey = []byte(`"text":"`)

// Parse makes m the message in raw.
func (p *Parser) Parse(m *Message, raw []byte) {
	for i := range p.known {
		// The last one first: streams come one after the other more often than not.
		k := (p.last + i) % Forms
		if t := &p.known[k]; t.message.Form != 0 && t.fits(raw) {
			p.last = k
			t.take(m, raw)
			return
		}
	}
	m.Parse(raw)
	p.learn(m)
}

// fits tells that raw has the template's form.
func (t *template) fits(raw []byte) bool {
	if len(raw) < len(t.head)+len(t.tail) || !bytes.HasSuffix(raw, t.tail) || !bytes.HasPrefix(raw, t.head) {
		return false
	}
	text := raw[len(t.head) : len(raw)-len(t.tail)]
	// Neither an end of the string in it, nor a backslash that takes the end away.
	return bytes.IndexByte(text, '"') < 0 && (len(text) == 0 || text[len(text)-1] != '\\')
}

// take makes m what Parse would find in raw.
func (t *template) take(m *Message, raw []byte) {
	*m = t.message
	m.Raw = raw
	by := len(raw) - (len(t.head) + len(t.tail))
	move := func(s *Span) {
		if s.End > len(t.head) {
			s.End += by
			if s.Off > len(t.head) {
				s.Off += by
			}
		}
	}
	move(&m.Params)
	move(&m.SessionText)
	m.Varies = Span{len(t.head), len(t.head) + by}
	m.Session = raw[m.SessionText.Off+1 : m.SessionText.End-1]
}

// learn keeps the form of a frame that others may have.
func (p *Parser) learn(m *Message) {
	if m.Kind != Notification || m.Twice || len(m.Raw) > maxTemplate || !m.SessionText.Found() {
		return
	}
	if s := m.Text(m.SessionText); bytes.IndexByte(s, '\\') >= 0 {
		return
	}
	at := bytes.Index(m.Raw[m.Params.Off:m.Params.End], textKey)
	if at < 0 {
		return
	}
	open := m.Params.Off + at + len(textKey) - 1
	end := StringEnd(m.Raw, open)
	if !opensString(m.Raw, m.Params.Off, m.Params.Off+at) || end < 0 || open < m.SessionText.End && m.SessionText.Off < end || m.Raw[len(m.Raw)-1] != '\n' {
		return
	}
	t := &p.known[p.next]
	p.last, p.next = p.next, (p.next+1)%Forms
	if p.forms++; p.forms == 0 {
		p.forms++
	}
	m.Form, m.Varies = p.forms, Span{open + 1, end - 1}
	t.head = append(t.head[:0], m.Raw[:open+1]...)
	t.tail = append(t.tail[:0], m.Raw[end-1:]...)
	// Of the frame without a text: what is behind it moves by the text's length.
	t.message = *m
	t.message.Raw, t.message.Session, t.message.edits = nil, nil, nil
	by := (end - 1) - (open + 1)
	t.message.Varies = Span{}
	back := func(s *Span) {
		if s.Off > open {
			s.Off -= by
		}
		if s.End > open {
			s.End -= by
		}
	}
	back(&t.message.Params)
	back(&t.message.SessionText)
}

// opensString tells that a string opens at the quote at raw[at]. In what is passed over
// by its brackets and quotes, which need not be JSON, one may end there.
func opensString(raw []byte, from, at int) bool {
	for from < at {
		from += bytes.IndexByte(raw[from:], '"')
		if from < at {
			from = StringEnd(raw, from)
		}
	}
	return from == at
}

// ByForm remembers what was found in frames that differ in one string only.
type ByForm[T any] struct {
	form  [Forms]uint32
	value [Forms]T
}

// Of is what find gives for the message, or has given for one of its form. What it
// gives must not depend on the string that differs.
func (b *ByForm[T]) Of(m *Message, find func(*Message) T) T {
	if m.Form == 0 {
		return find(m)
	}
	at := m.Form % Forms
	if b.form[at] != m.Form {
		b.form[at], b.value[at] = m.Form, find(m)
	}
	return b.value[at]
}
