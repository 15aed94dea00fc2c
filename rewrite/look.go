package rewrite

import (
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// look is what the rows about updates see at a glance. It is taken of every
// update, so it goes down to what it needs, once and without an allocation. A
// change goes by wire's members, which see what is given twice.
type look struct {
	kind  updateKind
	text  []byte // of a message chunk, as it stands between its quotes
	bytes []byte // the frame that it was taken of
}

type updateKind uint8

const (
	otherUpdate updateKind = iota
	messageChunk
	thoughtChunk
	toolUpdate
)

// look is the look at the frame of this step, as the rows before have left it.
func (r *Rewriter) look(m *proxy.Message) *look {
	if len(m.Raw) == 0 || len(r.seen.bytes) != len(m.Raw) || &r.seen.bytes[0] != &m.Raw[0] {
		f := r.forms.Of(m, formOf)
		if !f.known {
			r.seen = lookAt(m)
			return &r.seen
		}
		r.seen = look{kind: f.kind, bytes: m.Raw}
		if f.kind == messageChunk {
			r.seen.text = m.Text(m.Varies)
		}
	}
	return &r.seen
}

// form is a look at all frames that differ in one string; it is known where that is
// the text of the chunk, or where the look has none.
type form struct {
	known bool
	kind  updateKind
}

func formOf(m *proxy.Message) form {
	l := lookAt(m)
	ofText := l.text != nil && cap(m.Raw)-cap(l.text) == m.Varies.Off // it begins there
	return form{m.Form != 0 && (l.kind != messageChunk || ofText), l.kind}
}

func lookAt(m *proxy.Message) look {
	b := m.Raw
	l := look{bytes: b}
	if !m.Params.Found() {
		return l
	}
	update := valueAt(b, m.Params.Off, "update")
	kind := valueAt(b, update, "sessionUpdate")
	switch string(stringAt(b, kind)) {
	case "agent_message_chunk":
		l.kind = messageChunk
		l.text = stringAt(b, valueAt(b, valueAt(b, update, "content"), "text"))
	case "agent_thought_chunk":
		l.kind = thoughtChunk
	case "tool_call", "tool_call_update":
		l.kind = toolUpdate
	}
	return l
}

// valueAt is where the value of a member begins in the object that opens at
// b[at], -1 where there is none. Names with escapes in them are not found.
func valueAt(b []byte, at int, name string) int {
	if at < 0 || at >= len(b) || b[at] != '{' {
		return -1
	}
	for i := at + 1; ; i++ {
		i = wire.Space(b, i)
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		key := i + 1
		if i = wire.StringEnd(b, i); i < 0 {
			return -1
		}
		here := string(b[key:i-1]) == name
		if i = wire.Space(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		i = wire.Space(b, i+1)
		if here {
			return i
		}
		if i = valueEnd(b, i); i < 0 {
			return -1
		}
		if i = wire.Space(b, i); i >= len(b) || b[i] != ',' {
			return -1
		}
	}
}

// stringAt is what stands between the quotes of the string that opens at b[at],
// nil where there is none.
func stringAt(b []byte, at int) []byte {
	if at < 0 || at >= len(b) || b[at] != '"' {
		return nil
	}
	end := wire.StringEnd(b, at)
	if end < 0 {
		return nil
	}
	return b[at+1 : end-1]
}

// valueEnd is the offset after the value that begins at b[i], or -1. It does not
// recurse: a frame may nest a million deep.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = wire.StringEnd(b, i); i < 0 || depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 {
					return i
				}
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}
