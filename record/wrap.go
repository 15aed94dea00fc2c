package record

import "bytes"

// wrappedMin is the least length of the lines that base64 is wrapped to: RFC 2045
// has 76 columns, RFC 7468 has 64. Hardly any text has as long a word at the end
// of a line.
const wrappedMin = 32

// lineBreak returns the end of the line break that b[i] begins, one that is
// escaped as often as the text is, or i where there is none.
func lineBreak(b []byte, i int) int {
	end := i
	for i < len(b) {
		j := i
		for j < len(b) && b[j] == '\\' {
			j++
		}
		switch {
		case j >= len(b):
			return end
		case j == i && (b[j] == '\n' || b[j] == '\r'), j > i && (b[j] == 'n' || b[j] == 'r'):
			i, end = j+1, j+1
		default:
			return end
		}
	}
	return end
}

// lines goes through a text from one line break within base64 to the next.
type lines struct {
	b []byte
	// seen are where the next backslash, line feed and carriage return are. Each
	// is sought anew only where it lies behind, so that a text is read once.
	seen [3]int
}

func newLines(b []byte) *lines { return &lines{b, [3]int{-1, -1, -1}} }

// wrapped reports whether base64 in lines may stand in b.
func wrapped(b []byte) bool {
	// Most frames have no break but the one at their end.
	if inner := bytes.TrimRight(b, "\r\n"); bytes.IndexByte(inner, '\\') < 0 && bytes.IndexByte(inner, '\n') < 0 && bytes.IndexByte(inner, '\r') < 0 {
		return false
	}
	return newLines(b).next(0) >= 0
}

// next returns the offset of the first line break from i on that stands within
// what may be base64, or -1.
func (l *lines) next(i int) int {
	b := l.b
	for i < len(b) {
		at := len(b)
		for k, c := range [...]byte{'\\', '\n', '\r'} {
			if l.seen[k] < i {
				l.seen[k] = len(b)
				if n := bytes.IndexByte(b[i:], c); n >= 0 {
					l.seen[k] = i + n
				}
			}
			at = min(at, l.seen[k])
		}
		if at >= len(b) {
			return -1
		}
		end := lineBreak(b, at)
		if end > at && end < len(b) && chars[b[end]]&(isBase64|isWord) != 0 && longWord(b[:at]) {
			return at
		}
		for i = max(end, at+1); i < len(b) && b[i] == '\\'; i++ {
		}
	}
	return -1
}

// longWord reports whether b ends in a line of base64.
func longWord(b []byte) bool {
	if len(b) < wrappedMin {
		return false
	}
	for i := 1; i <= wrappedMin; i++ {
		if chars[b[len(b)-i]]&(isBase64|isWord) == 0 {
			return false
		}
	}
	return true
}

// unwrap takes the line breaks out of the base64 in a text. The marks lead back as
// those of [decode] do; they are nil where there are no such breaks.
func unwrap(b []byte) (flat []byte, marks []mark) {
	from, l := 0, newLines(b)
	for at := l.next(0); at >= 0; at = l.next(from) {
		if marks == nil {
			flat, marks = make([]byte, 0, len(b)), []mark{{0, 0}}
		}
		flat = append(flat, b[from:at]...)
		from = lineBreak(b, at)
		marks = append(marks, mark{uint32(len(flat)), uint32(from)})
	}
	if marks == nil {
		return nil, nil
	}
	return append(flat, b[from:]...), marks
}
