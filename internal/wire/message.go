package wire

// Kind is what a line is, by JSON-RPC 2.0.
type Kind uint8

const (
	// Blank is a line of nothing but white space.
	Blank Kind = iota
	// Noise is a line whose first byte that is no space opens neither an
	// object nor an array: some program's chatter on stdout.
	Noise
	// Batch is a line that opens an array. The shim does not look inside to
	// change anything.
	Batch
	// Opaque is a line that opens an object in which no message was found: it
	// is cut short, has neither a method nor an answer, or goes on after its
	// end.
	Opaque
	// Request has a method and an id.
	Request
	// Notification has a method and no id.
	Notification
	// Response has an id, or an error without one, and no method.
	Response
)

var kindNames = [...]string{"blank", "noise", "batch", "opaque", "request", "notification", "response"}

func (k Kind) String() string { return kindNames[k] }

// Span is a half-open range of offsets into Message.Raw. The zero Span is
// "not there".
type Span struct{ Off, End int }

// Found reports whether the span is there.
func (s Span) Found() bool { return s.End > s.Off }

// Message is one line and what a scan found in it. Spans point into Raw.
// A Message that a Reader's batch was parsed into aliases that batch: Clone it
// to keep it beyond the step.
type Message struct {
	// Raw is the line with its line end, exactly as it came or as splices
	// have made it.
	Raw  []byte
	Kind Kind

	// ID, Params, Result, Error are the texts of those members' values.
	ID, Params, Result, Error Span
	// Method is the decoded method name, "" if there is none.
	Method string
	// Session is params.sessionId decoded, nil if there is none.
	// SessionText is the span of its JSON text with the quotes.
	Session     []byte
	SessionText Span

	// Twice tells that a member the shim decides by is given more than once.
	// Peers disagree on which one counts, so such a frame is never changed.
	Twice bool

	// Form tells frames that a [Parser] has seen to differ in nothing but one string:
	// they have the same Form, which is not 0, and Varies is where the string's text
	// stands, without its quotes. A change makes it 0.
	Form   uint32
	Varies Span

	edits   []Edit
	checked bool // valid was computed for Raw
	valid   bool
}

// Edit is one replacement of bytes in a frame. Edits of a frame apply one
// after the other; At is an offset into the frame as the edits before it left
// it, and so also into the frame after it.
type Edit struct {
	At       int
	Old, New string
}

// Edits returns what splices have changed, in order.
func (m *Message) Edits() []Edit { return m.edits }

// Text returns the bytes of a span.
func (m *Message) Text(s Span) []byte { return m.Raw[s.Off:s.End] }

// Clone returns a copy that aliases nothing.
func (m *Message) Clone() *Message {
	c := &Message{}
	edits := append([]Edit(nil), m.edits...)
	c.Parse(append([]byte(nil), m.Raw...))
	c.edits = edits
	return c
}

// Object reports whether the message may be spliced: a complete and valid
// object in which nothing the shim decides by is given twice.
func (m *Message) Object() bool {
	if m.Twice || m.Kind < Request {
		return false
	}
	if !m.checked {
		m.checked, m.valid = true, Valid(m.Raw)
	}
	return m.valid
}

// Splice replaces n bytes at offset at by text and parses the result anew. It
// reports false and changes nothing where the message must not be changed.
// The bytes it replaces stay in the edits; the buffer that Raw aliased before
// is not written to.
func (m *Message) Splice(at, n int, text string) bool {
	if at < 0 || n < 0 || at+n > len(m.Raw) || !m.Object() {
		return false
	}
	old := string(m.Raw[at : at+n])
	if old == text {
		return true
	}
	raw := make([]byte, 0, len(m.Raw)-n+len(text))
	raw = append(raw, m.Raw[:at]...)
	raw = append(raw, text...)
	raw = append(raw, m.Raw[at+n:]...)
	edits := append(m.edits, Edit{At: at, Old: old, New: text})
	m.Parse(raw)
	m.edits = edits
	return true
}

// Restore makes the message again what it was when Raw and Edits had these values.
func (m *Message) Restore(raw []byte, edits []Edit) {
	if len(raw) == len(m.Raw) && (len(raw) == 0 || &raw[0] == &m.Raw[0]) {
		return
	}
	m.Parse(raw)
	m.edits = edits
}

// Undo gives back the bytes that a frame had before its edits.
func Undo(raw []byte, edits []Edit) []byte {
	b := append([]byte(nil), raw...)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if e.At < 0 || e.At+len(e.New) > len(b) {
			return b
		}
		tail := append([]byte(e.Old), b[e.At+len(e.New):]...)
		b = append(b[:e.At], tail...)
	}
	return b
}
