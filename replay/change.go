package replay

import (
	"bytes"
	"strings"

	"acp-shim/internal/wire"
)

// change leads one text over into another wherever it stands as a word of its
// own: a session's id, or a directory at the beginning of a path.
type change struct {
	from, to       string
	fromJS, toJS   []byte // as they stand inside of a JSON string
	path, anywhere bool
}

// newPaths changes a directory and what is below it. It changes nothing where
// that is too little to be known by.
func newPaths(from, to string) *change {
	from = strings.TrimRight(from, `/\`)
	if len(from) < 2 || from == to {
		return nil
	}
	return newChange(from, strings.TrimRight(to, `/\`), true)
}

// newSession changes a session's id. One that is short could be any word, and is
// changed only where it is called a sessionId.
func newSession(from, to string) *change {
	if from == "" || from == to {
		return nil
	}
	return newChange(from, to, false)
}

func newChange(from, to string, path bool) *change {
	bare := func(s string) []byte { q := wire.Quote(s); return []byte(q[1 : len(q)-1]) }
	return &change{from: from, to: to, fromJS: bare(from), toJS: bare(to), path: path, anywhere: path || len(from) >= 16}
}

// text changes a string that is no JSON.
func (c *change) text(s string) string {
	if c == nil || !strings.Contains(s, c.from) {
		return s
	}
	b := []byte(s)
	var out []byte
	for at := 0; ; {
		i := c.next(b, []byte(c.from), at)
		if i < 0 {
			return string(append(out, b[at:]...))
		}
		out = append(append(out, b[at:i]...), c.to...)
		at = i + len(c.from)
	}
}

// next is where the text stands from b[at] on, -1 for nowhere.
func (c *change) next(b, from []byte, at int) int {
	for {
		i := bytes.Index(b[at:], from)
		if i < 0 {
			return -1
		}
		i += at
		at = i + len(from)
		if c.anywhere && c.stands(b, i, at) || !c.anywhere && isSessionID(b, i, at) {
			return i
		}
	}
}

// changes are several, made all at once: what one has put there is not changed
// again.
type changes []*change

// json changes a frame.
func (list changes) json(b []byte) []byte {
	if len(list) == 0 {
		return b
	}
	var out []byte
	at, next := 0, make([]int, len(list)) // next is where each one stands next
	for i, c := range list {
		next[i] = c.next(b, c.fromJS, 0)
	}
	for {
		best := -1
		for i, c := range list {
			if next[i] >= 0 && next[i] < at {
				next[i] = c.next(b, c.fromJS, at)
			}
			if next[i] >= 0 && (best < 0 || next[i] < next[best] || next[i] == next[best] && len(c.from) > len(list[best].from)) {
				best = i
			}
		}
		if best < 0 {
			if at == 0 {
				return b
			}
			return append(out, b[at:]...)
		}
		out = append(append(out, b[at:next[best]]...), list[best].toJS...)
		at = next[best] + len(list[best].fromJS)
	}
}

// isSessionID tells that b[i:end] is the string of a member sessionId.
func isSessionID(b []byte, i, end int) bool {
	if i == 0 || b[i-1] != '"' || end >= len(b) || b[end] != '"' {
		return false
	}
	before := bytes.TrimRight(b[:i-1], " \t")
	before, ok := bytes.CutSuffix(before, []byte(":"))
	return ok && bytes.HasSuffix(bytes.TrimRight(before, " \t"), []byte(`"sessionId"`))
}

// stands tells that b[i:end] is no part of a longer word.
func (c *change) stands(b []byte, i, end int) bool {
	slashes := 0
	for j := i - 1; j >= 0 && b[j] == '\\'; j-- {
		slashes++
	}
	if slashes%2 == 1 {
		return false // it begins with the second half of an escape
	}
	if end < len(b) && (wordByte(b[end]) || c.path && b[end] == '.' && end+1 < len(b) && wordByte(b[end+1])) {
		return false
	}
	if i == 0 || !c.path {
		return i == 0 || !wordByte(b[i-1]) || escaped(b, i)
	}
	prev := b[i-1]
	if prev == '/' && i > 2 && b[i-2] == '/' && b[i-3] == ':' {
		return true // file:///…
	}
	return (!wordByte(prev) || escaped(b, i)) && prev != '/' && prev != '.' && prev != '~'
}

// escaped tells that the letter before b[i] is that of an escape: \n before a
// path.
func escaped(b []byte, i int) bool {
	if strings.IndexByte("bfnrt", b[i-1]) < 0 {
		return false
	}
	n := 0
	for j := i - 2; j >= 0 && b[j] == '\\'; j-- {
		n++
	}
	return n%2 == 1
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c >= 0x80
}
