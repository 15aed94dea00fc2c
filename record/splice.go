package record

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Marker stands where a secret stood, and URLMarker where it stood in a URL,
// which may hold no brackets.
const (
	Marker    = "[redacted]"
	URLMarker = "redacted"
)

// span is a range of bytes and what stands in for them.
type span struct {
	from, to int
	text     string
}

// isReplaced reports whether a value in a text was replaced before. What follows
// the marker may have come to belong to it only by that.
func isReplaced(b []byte) bool {
	return bytes.HasPrefix(b, []byte(Marker)) || bytes.HasPrefix(b, []byte(URLMarker))
}

// isMarker reports whether b is what a secret was replaced by, once or several
// times.
func isMarker(b []byte) bool {
	if string(b) == URLMarker {
		return true
	}
	for len(b) > 0 {
		rest, ok := bytes.CutPrefix(b, []byte(Marker))
		if !ok {
			return false
		}
		b = rest
	}
	return true
}

// numberMarker is what stands in for a number of n digits.
func numberMarker(n int) string { return "1" + strings.Repeat("0", n-1) }

func isNumberMarker(b []byte) bool {
	return len(b) > 0 && b[0] == '1' && len(bytes.Trim(b[1:], "0")) == 0
}

// tidy puts spans in order and makes one of those that overlap. The outer one
// keeps its text; of two that are equal, a URL's does.
func tidy(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(len(a.text), len(b.text)))
	})
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.from < last.to {
			last.to = max(last.to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// splice replaces tidy spans of b by their texts. Where nothing changes it
// returns b itself.
func splice(b []byte, spans []span) []byte {
	size, changed := len(b), false
	for _, s := range spans {
		size += len(s.text) - (s.to - s.from)
		changed = changed || string(b[s.from:s.to]) != s.text
	}
	if !changed {
		return b
	}
	out := make([]byte, 0, size)
	at := 0
	for _, s := range spans {
		out = append(out, b[at:s.from]...)
		out = append(out, s.text...)
		at = s.to
	}
	return append(out, b[at:]...)
}

// settle finds spans until what they leave holds no more. A rule that reads a
// whole line may see a secret only when the words in it are fewer.
func settle(b []byte, find func(b []byte) []span) []span {
	spans := tidy(find(b))
	for range 8 {
		if len(spans) == 0 {
			break
		}
		out := splice(b, spans)
		more := tidy(find(out))
		more = slices.DeleteFunc(more, func(s span) bool { return string(out[s.from:s.to]) == s.text })
		if len(more) == 0 {
			break
		}
		spans = compose(spans, more)
	}
	return spans
}

// compose gives spans of what came before first for spans of what came out of
// it. One that touches a replaced span takes the whole of it.
func compose(first, then []span) []span {
	i, by := 0, 0 // first[:i] lie before, and moved what follows by that much
	before := func(at int, end bool) int {
		for ; i < len(first); i++ {
			s := first[i]
			from := s.from + by
			if at <= from {
				break
			}
			if at < from+len(s.text) {
				if end {
					return s.to
				}
				return s.from
			}
			by += len(s.text) - (s.to - s.from)
		}
		return at - by
	}
	all := slices.Clone(first)
	for _, t := range then {
		from := before(t.from, false)
		all = append(all, span{from, before(t.to, true), t.text})
	}
	return tidy(all)
}
