package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"acp-shim/internal/wire"
)

// A secret that is known is hunted for in whatever it may be written in. There
// may be thousands, and a frame holds almost never one, so a frame is searched
// for all at once: at every fourth byte the next five are looked up. Whatever is
// eight bytes long has one of four windows there.
const (
	huntMin    = 8
	huntStep   = 4
	huntWindow = 5
)

// hunter finds secrets that are known. A nil hunter knows none.
type hunter struct {
	// bits has a bit for the hash of every window; shift makes a hash short
	// enough for it.
	bits  []uint64
	shift uint
	// at leads from a window to the needles that have it, by number, and where.
	at      map[uint64][]needleAt
	needles []needle
	// kept are ids that stay where they stand as such.
	kept map[string]bool
}

type needle struct {
	text string
	by   string // what stands in for it
}

type needleAt struct{ needle, off int32 }

// newHunter takes secrets that are worth it; it returns nil where none is.
func newHunter(secrets [][]byte) *hunter { return newHunterAs(secrets, nil) }

// newHunterAs is told what stands in for some of them.
func newHunterAs(secrets [][]byte, standIns map[string]string) *hunter {
	h := &hunter{at: map[uint64][]needleAt{}}
	seen := map[string]bool{}
	for _, s := range secrets {
		for _, n := range spellings(string(s)) {
			if len(n.text) < huntMin || seen[n.text] {
				continue
			}
			seen[n.text] = true
			if by := standIns[string(s)]; by != "" && n.by == Marker {
				n.by = by
			}
			h.needles = append(h.needles, n)
		}
	}
	if len(h.needles) == 0 {
		return nil
	}
	size := 1 << 15
	for size < len(h.needles)*huntStep*32 && size < 1<<27 {
		size *= 2
	}
	h.bits = make([]uint64, size/64)
	for h.shift = 64; size > 1; size /= 2 {
		h.shift--
	}
	for i, n := range h.needles {
		// The windows are its last ones: many keys begin alike.
		for off := len(n.text) - huntMin; off <= len(n.text)-huntWindow; off++ {
			k := window5([]byte(n.text[off:]))
			h.at[k] = append(h.at[k], needleAt{int32(i), int32(off)})
			b := h.hash(k)
			h.bits[b/64] |= 1 << (b % 64)
		}
	}
	return h
}

// huntFactor spreads windows over the bits, as Knuth's multiplicative hash does.
const huntFactor = 0x9e3779b97f4a7c15

func (h *hunter) hash(k uint64) uint64 { return k * huntFactor >> h.shift }

// window5 is what the first five bytes of b are looked up by.
func window5(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(b[4])<<32
}

// next returns the first place from p on, in steps, whose window some needle may
// have, or -1.
func (h *hunter) next(b []byte, p int) int {
	bits, shift := h.bits, h.shift
	for ; p+8 <= len(b); p += huntStep {
		s := (binary.LittleEndian.Uint64(b[p:]) & (1<<(8*huntWindow) - 1)) * huntFactor >> shift
		if bits[s/64]>>(s%64)&1 != 0 {
			return p
		}
	}
	for ; p+huntWindow <= len(b); p += huntStep {
		if s := h.hash(window5(b[p:])); bits[s/64]>>(s%64)&1 != 0 {
			return p
		}
	}
	return -1
}

// each calls f with every needle that stands in b, until it reports false.
func (h *hunter) each(b []byte, f func(from int, n *needle) bool) {
	for p := h.next(b, 0); p >= 0; p = h.next(b, p+huntStep) {
		for _, at := range h.at[window5(b[p:])] {
			n := &h.needles[at.needle]
			from := p - int(at.off)
			if from < 0 || from+len(n.text) > len(b) || string(b[from:from+len(n.text)]) != n.text {
				continue
			}
			if !f(from, n) {
				return
			}
		}
	}
}

// may reports whether b may hold what is hunted for. It may say so of what holds
// nothing, and never the other way round.
func (h *hunter) may(b []byte) bool {
	if h == nil {
		return false
	}
	found := false
	h.each(b, func(int, *needle) bool {
		found = true
		return false
	})
	return found || suspiciousEscape(b) || wrapped(b)
}

// text finds all in a text.
func (h *hunter) text(b []byte) []span {
	if h == nil {
		return nil
	}
	return tidy(h.levels(b, 0, len(b), true))
}

// frame finds all in the strings of a frame, whichever way they are escaped. A
// number is never touched.
func (h *hunter) frame(b []byte) (spans []span) {
	if !h.may(b) {
		return nil
	}
	if !wire.Valid(b) {
		return h.text(b)
	}
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		from := i + n + 1
		i = wire.StringEnd(b, from-1)
		if len(h.kept) > 0 {
			if v := idValue(b, from-1, i); v >= 0 {
				if end := wire.StringEnd(b, v); h.kept[string(unquote(b[v:end]))] {
					i = end
					continue
				}
			}
		}
		spans = append(spans, h.levels(b, from, i-1, false)...)
	}
	return tidy(spans)
}

// id finds all in the id of something.
func (h *hunter) id(b []byte) []span {
	if h == nil || h.kept[string(b)] {
		return nil
	}
	return h.text(b)
}

// levels finds all in b[from:to], and in what it is when escapes are resolved as
// in JSON, and again as in JSON that stands in a string of it. plain tells that
// what is found may begin within an escape.
func (h *hunter) levels(b []byte, from, to int, plain bool) (spans []span) {
	text := b[from:to]
	var marks [][]mark
	for level := 0; ; level++ {
		escaped := bytes.IndexByte(text, '\\') >= 0
		if level > 0 || plain || !escaped {
			found := func(s span) {
				for level > 0 && s.from > 0 && !utf8.RuneStart(text[s.from]) {
					s.from--
				}
				for level > 0 && s.to < len(text) && !utf8.RuneStart(text[s.to]) {
					s.to++
				}
				for i := level - 1; i >= 0; i-- {
					s.from, s.to = rawOffset(marks[i], s.from), rawOffset(marks[i], s.to)
				}
				spans = append(spans, span{from + s.from, from + s.to, s.text})
			}
			h.each(text, func(at int, n *needle) bool {
				found(span{at, at + len(n.text), n.by})
				return true
			})
			if flat, breaks := unwrap(text); breaks != nil {
				h.each(flat, func(at int, n *needle) bool {
					found(span{rawOffset(breaks, at), rawOffset(breaks, at+len(n.text)-1) + 1, n.by})
					return true
				})
			}
		}
		if !escaped || level >= maxDepth || (level > 0 || plain) && !suspiciousEscape(text) {
			return spans
		}
		decoded, m := decode(text, nil)
		marks, text = append(marks, m), decoded
	}
}

// spellings are the ways in which a secret may be written.
func spellings(s string) []needle {
	list := []needle{{s, Marker}}
	// As JSON in a string, by encoders that escape more or less, and as JSON in
	// such JSON, as deep as JSON in strings is looked into.
	inJSON := []string{quotedBody(s), marshalledBody(s), strings.ReplaceAll(quotedBody(s), "/", `\/`)}
	if lower := asciiBody(s, "0123456789abcdef"); lower != inJSON[0] {
		// Python and PHP write small digits, .NET capital ones.
		inJSON = append(inJSON, lower, strings.ReplaceAll(lower, "/", `\/`), asciiBody(s, "0123456789ABCDEF"))
	}
	for _, q := range inJSON {
		for range maxDepth {
			if q != s {
				list = append(list, needle{q, Marker})
			}
			q = quotedBody(q)
		}
	}
	for _, q := range []string{url.QueryEscape(s), url.PathEscape(s)} {
		if q != s {
			list = append(list, needle{q, URLMarker}, needle{lowerPercent(q), URLMarker})
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for off := range 3 {
			// The characters that no neighbour has a part in.
			e := enc.EncodeToString(append(make([]byte, off), s...))
			e = e[(off*8+5)/6 : (off+len(s))*8/6]
			// What follows keeps its place among the groups of four.
			list = append(list, needle{e, URLMarker + "AAAA"[:len(e)%4]})
		}
	}
	return list
}

func quotedBody(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	q := appendQuoted(nil, s)
	return string(q[1 : len(q)-1])
}

// asciiBody is the body of a JSON string with nothing in it but ASCII.
func asciiBody(s, hex string) string {
	if !utf8.ValidString(s) {
		return s
	}
	var b []byte
	for _, r := range quotedBody(s) {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			b = append(b, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		}
	}
	return string(b)
}

func marshalledBody(s string) string {
	q, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(q[1 : len(q)-1])
}

// lowerPercent writes the hexadecimal digits of a percent-encoded text small.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:i+3], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// sameSecrets reports whether two lists are the same.
func sameSecrets(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }
