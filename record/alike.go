package record

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"acp-shim/internal/wire"
)

// alike knows the last frame that was checked in full, and tells of another one
// that only one string in it differs. Of a stream of chunks that is true of
// nearly all frames, and then that string is all that has to be checked: the
// rest is valid, and holds nothing that a redactor would look at twice, because
// it was and did not the last time.
type alike struct {
	raw bool // secrets do not matter

	frame  []byte // valid, embeddable, and not suspicious
	bodies []body // where the strings in it are
	// misses are the frames that were not alike since the last that was, or the
	// last that was learned; the next is learned after patience of them.
	misses, patience int
}

type body struct{ from, to int32 }

// goodForms are the forms of frames that were checked in full (see [wire.Message]):
// of another one of the same form only the string that differs has to be checked.
type goodForms [wire.Forms]uint32

func (g *goodForms) has(form uint32) bool { return form != 0 && g[form%wire.Forms] == form }

func (g *goodForms) add(form uint32) { g[form%wire.Forms] = form }

// sameForm is same for a frame of a form that was found to be good, with varies where
// its string is.
func (a *alike) sameForm(b []byte, varies wire.Span) bool { return a.good(b, varies.Off, varies.End) }

// alikeMax is the longest frame that is learned.
const alikeMax = 4096

// same reports whether b is one JSON value that can be embedded and, unless
// secrets do not matter, not suspicious. It may say no of one that is.
func (a *alike) same(b []byte) bool {
	if len(a.frame) == 0 || len(b) > 2*alikeMax {
		return false
	}
	prefix := commonPrefix(a.frame, b)
	if prefix == len(b) && prefix == len(a.frame) {
		return true
	}
	suffix := commonSuffix(a.frame[prefix:], b[prefix:])
	end := len(a.frame) - suffix
	for _, s := range a.bodies {
		if int(s.to) < prefix || int(s.to) < end {
			continue
		}
		if int(s.from) > prefix {
			break
		}
		from, to := int(s.from), len(b)-len(a.frame)+int(s.to)
		if !a.good(b, from, to) {
			return false
		}
		a.misses, a.patience = 0, 1
		return true
	}
	return false
}

// good reports whether the string in b[from:to] is valid and, unless secrets do not
// matter, not suspicious where it stands.
func (a *alike) good(b []byte, from, to int) bool {
	// A window of the sieve reaches over the string by up to three bytes.
	return validBody(b[from:to]) &&
		(a.raw || !suspiciousWord(b[max(0, from-3):min(len(b), to+3)]) && !suspiciousSign(b))
}

// learn takes a frame that was not alike, and that was found to be what same
// reports. In traffic of all kinds that is a waste of time, so it is done less
// often while it does not help.
func (a *alike) learn(b []byte) {
	if a.misses++; a.misses < a.patience || len(b) > alikeMax {
		return
	}
	a.misses, a.patience = 0, min(2*a.patience+1, 64)
	a.frame = append(a.frame[:0], b...)
	a.bodies = a.bodies[:0]
	for i := 0; i < len(b); i++ {
		if b[i] == '"' {
			end := wire.StringEnd(b, i)
			a.bodies = append(a.bodies, body{int32(i + 1), int32(end - 1)})
			i = end - 1
		}
	}
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	i := n
	for ; i >= 8; i -= 8 {
		if x := binary.LittleEndian.Uint64(a[i-8:]) ^ binary.LittleEndian.Uint64(b[i-8:]); x != 0 {
			return n - i + bits.LeadingZeros64(x)/8
		}
	}
	for i > 0 && a[i-1] == b[i-1] {
		i--
	}
	return n - i
}

// validBody reports whether b can stand between the quotes of a JSON string.
func validBody(b []byte) bool {
	for i := 0; ; {
		if i = wire.Plain(b, i); i >= len(b) {
			return utf8.Valid(b)
		}
		if b[i] != '\\' || i+1 >= len(b) {
			return false
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if _, ok := hex4(b, i+2); !ok {
				return false
			}
			i += 6
		default:
			return false
		}
	}
}
