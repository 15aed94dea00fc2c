package record

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"

	"acp-shim/internal/wire"
)

// scalarEnd returns the offset after the number or word at b[i].
func scalarEnd(b []byte, i int) int {
	for i < len(b) {
		switch c := b[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			i++
		default:
			return i
		}
	}
	return i
}

// valueEnd returns the offset after the value at b[i], or -1. It does not
// recurse: a frame may nest a million deep.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = wire.StringEnd(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if depth == 0 {
				return scalarEnd(b, i)
			}
			i++
		}
		if depth <= 0 {
			return i
		}
	}
	return -1
}

// eachMember calls f with the decoded key and the text of the value of every
// member of the object b, which must be valid JSON. It stops where f reports
// false.
func eachMember(b []byte, f func(key, value []byte) bool) {
	i := wire.Space(b, 0)
	for i++; ; i++ {
		if i = wire.Space(b, i); i >= len(b) || b[i] != '"' {
			return
		}
		k := i
		i = wire.StringEnd(b, i)
		key := unquote(b[k:i])
		i = wire.Space(b, i)
		i = wire.Space(b, i+1)
		v := i
		if i = valueEnd(b, i); i < 0 || !f(key, b[v:i]) {
			return
		}
		if i = wire.Space(b, i); i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// eachElement calls f with the text of every value of the array b, which must
// be valid JSON.
func eachElement(b []byte, f func(value []byte)) {
	i := wire.Space(b, 0)
	for i++; ; i++ {
		if i = wire.Space(b, i); i >= len(b) || b[i] == ']' {
			return
		}
		v := i
		if i = valueEnd(b, i); i < 0 {
			return
		}
		f(b[v:i])
		if i = wire.Space(b, i); i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// unquote decodes the text of a JSON string, with its quotes.
func unquote(text []byte) []byte { return unescape(text[1 : len(text)-1]) }

// unescape decodes the body of a JSON string. Where there is no escape the
// result aliases it.
func unescape(body []byte) []byte {
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	decoded, _ := decode(body, nil)
	return decoded
}

// mark says where decoded bytes came from: those from offset dec on, up to the
// next escape, stood one for one at offset raw and after.
type mark struct{ dec, raw uint32 }

// decode resolves the escapes in the body of a JSON string. The marks, one for
// every escape, lead from offsets in the result back to offsets in body; see
// [rawOffset].
func decode(body []byte, marks []mark) ([]byte, []mark) {
	out := make([]byte, 0, len(body))
	marks = append(marks, mark{0, 0})
	for i := 0; i < len(body); {
		n := bytes.IndexByte(body[i:], '\\')
		if n < 0 {
			n = len(body) - i
		}
		out = append(out, body[i:i+n]...)
		if i += n; i+1 >= len(body) {
			out = append(out, body[i:]...)
			break
		}
		end := i + 2
		switch c := body[i+1]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			var r rune
			r, end = escapedRune(body, i)
			out = utf8.AppendRune(out, r)
		case '"', '\\', '/':
			out = append(out, c)
		default: // no escape
			out = append(out, '\\', c)
		}
		i = end
		marks = append(marks, mark{uint32(len(out)), uint32(i)})
	}
	return out, marks
}

// escapedRune reads the \u escape at b[i], with its second half where it is
// half of a pair, and returns the offset after it.
func escapedRune(b []byte, i int) (rune, int) {
	r, ok := hex4(b, i+2)
	if !ok {
		return utf8.RuneError, min(i+2, len(b))
	}
	i += 6
	if utf16.IsSurrogate(r) {
		if i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u' {
			if low, ok := hex4(b, i+2); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, i + 6
				}
			}
		}
		return utf8.RuneError, i
	}
	return r, i
}

func hex4(b []byte, i int) (rune, bool) {
	if len(b)-i < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// rawOffset leads the offset of a rune in decoded bytes back to the raw ones.
func rawOffset(marks []mark, dec int) int {
	lo, hi := 0, len(marks)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; int(marks[mid].dec) <= dec {
			lo = mid
		} else {
			hi = mid
		}
	}
	return int(marks[lo].raw) + dec - int(marks[lo].dec)
}

// appendQuoted appends s, which is UTF-8, as a JSON string. It escapes what
// must be and nothing else.
func appendQuoted[S []byte | string](b []byte, s S) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// appendWord appends a short string of the shim's own as a JSON string,
// whatever bytes have slipped into it.
func appendWord(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		text, _ := json.Marshal(s)
		return append(b, text...)
	}
	return appendQuoted(b, s)
}
