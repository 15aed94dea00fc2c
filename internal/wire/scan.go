package wire

import (
	"bytes"
	"encoding/json"
)

// Parse makes m the message in raw, which it keeps and does not copy. It reads
// the top level and the members of params to the end of the line, since a peer
// may put the id last (codex does), and skips over every other value by its
// brackets and quotes only.
func (m *Message) Parse(raw []byte) {
	*m = Message{Raw: raw}
	i := Space(raw, 0)
	if i == len(raw) {
		return
	}
	switch raw[i] {
	case '[':
		m.Kind = Batch
		return
	case '{':
	default:
		m.Kind = Noise
		return
	}
	m.Kind = Opaque
	var seen uint8
	end, ok := m.top(i, &seen)
	if !ok || Space(raw, end) != len(raw) {
		return
	}
	named := m.Method != "" || seen&sawNameless != 0
	switch {
	case named && m.ID.Found():
		m.Kind = Request
	case named:
		m.Kind = Notification
	case m.ID.Found():
		// Also one that has neither a result nor an error: whoever asked waits
		// for nothing else.
		m.Kind = Response
	case m.Error.Found():
		// Codex answers a notification with an error that has no id.
		m.Kind = Response
	}
}

const (
	sawID = 1 << iota
	sawMethod
	sawParams
	sawResult
	sawError
	sawSession
	// sawNameless is a method that is "": nobody knows it, and it is to be answered.
	sawNameless
)

func (m *Message) take(key []byte, v Span, seen *uint8) {
	var bit uint8
	switch string(key) {
	case "id":
		bit, m.ID = sawID, v
	case "method":
		bit, m.Method = sawMethod, methodName(m.Raw[v.Off:v.End])
		if v.End-v.Off == len(`""`) && m.Raw[v.Off] == '"' {
			*seen |= sawNameless
		}
	case "result":
		bit, m.Result = sawResult, v
	case "error":
		bit, m.Error = sawError, v
	case "params":
		bit, m.Params = sawParams, v
	}
	if bit != 0 && *seen&bit != 0 {
		m.Twice = true
	}
	*seen |= bit
}

// top is members for the top level, with one difference: params that are an
// object are walked once, not passed over first and then walked.
func (m *Message) top(at int, seen *uint8) (int, bool) {
	raw := m.Raw
	i := Space(raw, at+1)
	if i < len(raw) && raw[i] == '}' {
		return i + 1, true
	}
	for {
		key, v, ok := memberKey(raw, i)
		if !ok {
			return i, false
		}
		i = v
		if string(key) == "params" && raw[i] == '{' {
			if i, ok = m.params(i, seen); !ok {
				return i, false
			}
		} else if i = valueEnd(raw, i); i <= v {
			return v, false
		}
		m.take(key, Span{v, i}, seen)
		var more bool
		if i, more, ok = memberNext(raw, i); !more {
			return i, ok
		}
	}
}

// params looks for the session in params, to their end.
func (m *Message) params(at int, seen *uint8) (int, bool) {
	return members(m.Raw, at, func(key []byte, v Span) {
		if string(key) != "sessionId" {
			return
		}
		if *seen&sawSession != 0 {
			m.Twice = true
		}
		*seen |= sawSession
		if m.Raw[v.Off] == '"' {
			m.SessionText = v
			m.Session = unquote(m.Raw[v.Off:v.End])
		}
	})
}

// members calls f for each member of the object that opens at raw[at], with
// the decoded key and the span of the value, and returns the offset after the
// object's end. It reports false where the object is not closed or a member is
// malformed; f has then been called for those before.
func members(raw []byte, at int, f func(key []byte, v Span)) (int, bool) {
	i := Space(raw, at+1)
	if i < len(raw) && raw[i] == '}' {
		return i + 1, true
	}
	for {
		key, v, ok := memberKey(raw, i)
		if !ok {
			return i, false
		}
		if i = valueEnd(raw, v); i <= v {
			return v, false
		}
		f(key, Span{v, i})
		var more bool
		if i, more, ok = memberNext(raw, i); !more {
			return i, ok
		}
	}
}

// memberKey reads a key and its colon at raw[i] and returns the decoded key and
// where the value starts.
func memberKey(raw []byte, i int) (key []byte, value int, ok bool) {
	if i >= len(raw) || raw[i] != '"' {
		return nil, i, false
	}
	end := StringEnd(raw, i)
	if end < 0 {
		return nil, len(raw), false
	}
	key = raw[i+1 : end-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		key = unquote(raw[i:end])
	}
	i = Space(raw, end)
	if i >= len(raw) || raw[i] != ':' {
		return nil, i, false
	}
	i = Space(raw, i+1)
	return key, i, i < len(raw)
}

// memberNext passes what follows a value: a comma, behind which more follows, or
// the object's end. ok is false where it is neither.
func memberNext(raw []byte, i int) (at int, more, ok bool) {
	i = Space(raw, i)
	if i >= len(raw) {
		return i, false, false
	}
	switch raw[i] {
	case '}':
		return i + 1, false, true
	case ',':
		return Space(raw, i+1), true, true
	}
	return i, false, false
}

// Space returns the offset of the first byte from b[i] on that is no white
// space.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// StringEnd returns the offset after the closing quote of the string that
// opens at b[i], or -1. Most strings are short: the first bytes are looked at
// one by one before a search is worth its call.
func StringEnd(b []byte, i int) int {
	start := i + 1
	i = start
	for limit := min(len(b), i+16); i < limit; i++ {
		if b[i] == '"' {
			return i + 1
		}
		if b[i] == '\\' {
			break
		}
	}
	for ; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for j := i - 1; j >= start && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
		start = i + 1
	}
}

// valueEnd returns the offset after the value that starts at b[i], or -1. It
// does not recurse: a frame may nest a million deep.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return StringEnd(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				if i = StringEnd(b, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\r', '\n', ':', '"', '{', '[':
			return i
		}
		i++
	}
	return i
}

// unquote decodes a JSON string's text. Where it has no escape the result
// aliases it.
func unquote(text []byte) []byte {
	if len(text) < 2 {
		return nil
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return text[1 : len(text)-1]
	}
	return []byte(s)
}
