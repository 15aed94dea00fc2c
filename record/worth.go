package record

import (
	"bytes"
	"encoding/base64"
	"strings"
	"sync"
	"unicode/utf8"
)

// commonWords are what stands in the place of a secret and is none, or is
// everybody's. To replace them everywhere would make a capture unreadable and
// hide nothing.
var commonWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`password passw0rd password1 password12 password123 changeme changeme1 undefined redacted
		anonymous bearer secret secrets example localhost username postgres administrator development production staging
		application credential credentials authorization placeholder antigravity acp-shim keep-alive no-cache text/plain
		your-api-key your_api_key api-key-here test1234 secret123 admin123 qwerty123 letmein1 12345678 123456789 1234567890
		00000000 11111111 aaaaaaaa xxxxxxxx ******** 127.0.0.1 utf-8 en_us.utf-8 c.utf-8 xterm-256color screen-256color
		tmux-256color truecolor application/json text/event-stream x86_64`) {
		m[w] = true
	}
	return m
})

// huntable reports whether a secret that is known for one can be told from other
// text wherever it stands.
func huntable(v []byte) bool {
	return len(v) >= huntMin && !commonWords()[string(bytes.ToLower(v))] && !isMarker(v) && !isReplaced(v) && !isNumberMarker(v)
}

// worthHunting reports the same of one that a word or a sign has announced. A word
// of nothing but letters stands in texts for other reasons.
func worthHunting(v []byte) bool {
	if !huntable(v) || isVariable(v) {
		return false
	}
	letters := 0
	for _, c := range v {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			letters++
		}
	}
	return letters < len(v) || random(v)
}

// telling reports the same of what only its place has made a secret: of a
// variable or a header, which as often as not holds a path, a name or a word. It
// must have a part that nobody would make up.
func telling(v []byte) bool {
	switch {
	case !huntable(v), isVariable(v), bytes.Contains(v, []byte("://")), v[0] == '/', v[0] == '~', v[0] == '.' && len(v) > 1 && v[1] == '/':
		return false
	}
	if looksKnown(v) {
		return true
	}
	signs := 0
	for len(v) > 0 {
		n := 0
		for n < len(v) && chars[v[n]]&isAlnum != 0 {
			n++
		}
		if random(v[:n]) {
			return true
		}
		if n < len(v) {
			if bytes.IndexByte([]byte("!@#$^&*?~"), v[n]) >= 0 {
				signs++
			}
			n++
		}
		v = v[n:]
	}
	return signs >= 2
}

// random reports whether a word of letters and digits changes between them, or
// between great and small letters, more often than words do.
func random(w []byte) bool {
	kind := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 0
		case c >= 'A' && c <= 'Z':
			return 1
		}
		return 2
	}
	digits, cases := 0, 0
	for i := 1; i < len(w); i++ {
		a, b := kind(w[i-1]), kind(w[i])
		switch {
		case a == b:
		case a == 0 || b == 0:
			digits++
		default:
			cases++
		}
	}
	return digits >= 2 && len(w) >= 4 || digits == 1 && len(w) >= 16 || cases*4 >= len(w) && len(w) >= 12
}

// looksKnown reports whether v is of a known kind of secret from end to end.
func looksKnown(v []byte) bool {
	for i := range shapes {
		if shapes[i].match(v, 0) == len(v) {
			return true
		}
	}
	return false
}

// Secrets are the secrets that [Redact] finds in a frame, or in any other JSON,
// taken apart to the words that are worth looking for elsewhere: not those under
// eight bytes, and none that a person would write for another reason.
func Secrets(frame []byte) [][]byte {
	var list [][]byte
	seen := map[string]bool{}
	eachWorthy(frame, frameSpansAs, func(v []byte, _ bool) {
		if !seen[string(v)] {
			seen[string(v)] = true
			list = append(list, bytes.Clone(v))
		}
	})
	return list
}

// eachWorthy calls f with the secrets that find finds in b and that are worth to
// be hunted for. sure tells that more than a place among headers or variables
// made it one.
func eachWorthy(b []byte, find func(b []byte, as look) []span, f func(v []byte, sure bool)) {
	if !suspicious(b) {
		return
	}
	spans := find(b, look{})
	if len(spans) == 0 {
		return
	}
	eachSecret(b, spans, func(v []byte) {
		if telling(v) {
			f(v, false)
		}
	})
	eachSecret(b, find(b, look{sure: true}), func(v []byte) {
		if worthHunting(v) {
			f(v, true)
		}
	})
}

// eachSecret calls f with what spans of b hold, the escapes resolved, whole and in
// words.
func eachSecret(b []byte, spans []span, f func(v []byte)) {
	for _, s := range spans {
		v := b[s.from:s.to]
		for range 3 {
			eachWord(v, f)
			next := unescape(v)
			if bytes.Equal(next, v) {
				break
			}
			v = next
		}
		if p := unescapePercent(v); len(p) < len(v) {
			eachWord(p, f)
		}
	}
}

// eachWord calls f with a value and with its words: the token of a header without its
// scheme, a cookie, a cookie's value, a line of a key.
func eachWord(v []byte, f func(v []byte)) {
	if len(v) <= 8192 {
		f(v)
	}
	for _, w := range bytes.FieldsFunc(v, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`"'`+"`"+`,;&<>(){}[]\`, r)
	}) {
		f(w)
		pair(w, f)
		// User and password, as Basic has them.
		if text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(w), "=")); err == nil && len(w) < 8192 && utf8.Valid(text) {
			pair(text, f)
		}
	}
}

// pair calls f with what stands behind a name: user:password, sid=value.
func pair(w []byte, f func(v []byte)) {
	if n := bytes.IndexAny(w, "=:"); n >= 0 && n+1 < len(w) && w[n+1] != '=' {
		f(w[n+1:])
	}
}
