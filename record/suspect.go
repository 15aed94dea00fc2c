package record

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// Almost no frame holds a secret, and all are recorded: what matters most for
// speed is to tell that a frame holds none. Every rule of the redactor hangs on
// a word ("token", "ghp_", ...) or on a character that is rare in frames, so a
// frame is searched for those first. The words are cut to windows of four bytes
// and sought all at once. (Skipping ahead by Wu and Manber was three times
// slower: so few bytes are skipped that waiting for the tables costs more.)

// Bytes fall in 32 classes: letters without their case, digits as one, some
// signs, and all the rest, which is what may stand around a word.
const (
	classRest  = 0
	classA     = 1 // and the other letters behind it
	classDigit = 27
	classUnder = 28
	classDash  = 29
	classSlash = 30
	classDot   = 31
)

func class(c byte) uint8 {
	switch {
	case c >= 'a' && c <= 'z':
		return c - 'a' + classA
	case c >= 'A' && c <= 'Z':
		return c - 'A' + classA
	case c >= '0' && c <= '9':
		return classDigit
	case c == '_':
		return classUnder
	case c == '-':
		return classDash
	case c == '/':
		return classSlash
	case c == '.':
		return classDot
	}
	return classRest
}

// rule is what to look closer for where a window was found.
type rule uint8

const (
	ruleKey rule = iota // a name that its value is secret under
	ruleBearer
	ruleBasic
	rulePEM
	ruleUser
	ruleShape // a secret that is known by how it looks
	ruleName  // matters as a JSON key only
)

// windows are four bytes each that every word of a rule has in it. A space is
// whatever is no part of a word, 0 any digit.
var windows = []struct {
	rule  rule
	texts []string
}{
	{ruleKey, []string{"toke", "ecre", "assw", "assp", "assc", "cred", "oriz", "okie", "key ", "key0", "key_", "jwt ", "fier", "arer",
		"ce_c", "ceco", "ce-c"}},
	{ruleBearer, []string{"arer"}},
	{ruleBasic, []string{"sic "}},
	{rulePEM, []string{"te k"}},
	{ruleUser, []string{" -u "}},
	// headers and env, the method authenticate, grant_type, and the flags -H and -e.
	{ruleName, []string{"ders", " env", "uthe", " -h ", " -e ", "-hea", "-env", "nt_t"}},
}

// sieve finds windows. They are dealt out to 16 buckets, and the search is a
// shift-or over the four places of a window in all buckets at once: after each
// byte, a bit of the top 16 is 0 where the last four bytes each are in some
// window of that bucket at their place. What passes is then looked up.
type sieve struct {
	class [256]uint8
	// wrong has, for every byte and place, the buckets that do not have it there;
	// the first place in the lowest 16 bits.
	wrong [256]uint64
	// first, by the classes of the last two bytes, is the index plus one in list
	// of the first window that ends so. The others follow.
	first [1 << 10]uint8
	list  []window
}

type window struct {
	key   uint32 // the four classes
	rules []rule
}

func (w window) class(place int) uint8 { return uint8(w.key >> (15 - 5*place) & 31) }

var theSieve = sync.OnceValue(newSieve)

func newSieve() *sieve {
	s := &sieve{}
	for c := range 256 {
		s.class[c] = class(byte(c))
	}
	for _, w := range windows {
		for _, text := range w.texts {
			s.add(w.rule, text)
		}
	}
	for i := range shapes {
		for _, text := range shapes[i].windows() {
			s.add(ruleShape, text)
		}
	}
	// Those that end alike stand side by side, and fall into one bucket.
	slices.SortFunc(s.list, func(a, b window) int {
		return cmp.Or(cmp.Compare(a.key&1023, b.key&1023), cmp.Compare(a.key, b.key))
	})
	var has [4][32]uint16 // by place and class, the buckets that have it
	for i := len(s.list) - 1; i >= 0; i-- {
		w := s.list[i]
		s.first[w.key&1023] = uint8(i + 1)
		for place := range 4 {
			has[place][w.class(place)] |= 1 << (i * 16 / len(s.list))
		}
	}
	for c := range 256 {
		for place := range 4 {
			s.wrong[c] |= uint64(^has[place][s.class[c]]) << (16 * place)
		}
	}
	return s
}

func (s *sieve) add(r rule, text string) {
	var k uint32
	for i := range 4 {
		k = k<<5 | uint32(s.class[text[i]])
	}
	for i := range s.list {
		if s.list[i].key == k {
			s.list[i].rules = append(s.list[i].rules, r)
			return
		}
	}
	s.list = append(s.list, window{k, []rule{r}})
}

// next returns the offset of the first window at or after from, and what it is,
// or -2. A window at offset -1 begins before the first byte, where no word
// goes on; from is -1 for a search from the beginning.
func (s *sieve) next(b []byte, from int) (int, *window) {
	const top = 0xffff << 48
	state := ^uint64(0)
	if from < 0 {
		state = state<<16 | s.wrong[' ']
		from = 0
	}
	for i := from; i < len(b); i++ {
		state = state<<16 | s.wrong[b[i]]
		if state < top {
			k := uint32(s.class[b[i-2]])<<10 | uint32(s.class[b[i-1]])<<5 | uint32(s.class[b[i]])
			if i > 2 {
				k |= uint32(s.class[b[i-3]]) << 15
			}
			if w := s.find(k); w != nil {
				return i - 3, w
			}
		}
	}
	return -2, nil
}

func (s *sieve) find(k uint32) *window {
	i := int(s.first[k&1023])
	if i == 0 {
		return nil
	}
	for i--; i < len(s.list) && s.list[i].key&1023 == k&1023; i++ {
		if s.list[i].key == k {
			return &s.list[i]
		}
	}
	return nil
}

// suspicious reports whether b may hold something that a rule would replace.
// It may say so of a line that holds nothing, and never the other way round.
func suspicious(b []byte) bool { return suspiciousWord(b) || suspiciousSign(b) }

func suspiciousWord(b []byte) bool {
	at, _ := theSieve().next(b, -1)
	return at > -2
}

func suspiciousSign(b []byte) bool {
	return suspiciousEscape(b) || suspiciousQuery(b) ||
		bytes.IndexByte(b, '@') >= 0 && bytes.Contains(b, []byte("://"))
}

// suspiciousEscape finds escapes of characters that words are made of, behind
// which anything may hide. In JSON that stands in a string of JSON the
// backslash itself is escaped.
func suspiciousEscape(b []byte) bool {
	for {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			return false
		}
		for n < len(b) && b[n] == '\\' {
			n++
		}
		if b = b[n:]; len(b) == 0 {
			return false
		}
		if b[0] == '/' || len(b) > 3 && b[0] == 'u' && b[1] == '0' && b[2] == '0' && b[3] < '8' {
			return true
		}
	}
}

// suspiciousQuery finds what may be the query of a URL.
func suspiciousQuery(b []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], '=')
		if n < 0 {
			break
		}
		i += n
		if _, ok := queryName(b, i); ok {
			return true
		}
	}
	if bytes.IndexByte(b, '%') < 0 {
		return false
	}
	return bytes.Contains(b, []byte("%3D")) || bytes.Contains(b, []byte("%3d"))
}
