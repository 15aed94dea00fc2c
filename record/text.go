package record

import (
	"bytes"
	"encoding/base64"
)

// maxDepth is how many JSON texts in strings of JSON texts are looked into.
// Escaping doubles with each, so real ones do not go beyond two.
const maxDepth = 4

// textSpans finds what is secret in a text: in a string of a frame with its
// escapes resolved, or in a line that is no JSON.
func textSpans(b []byte, as look, spans []span) []span {
	first := len(spans)
	spans = words(b, spans)
	spans = queries(b, spans)
	spans = userinfos(b, spans)
	if len(spans) > first && isBlob(b) {
		// In a picture in base64 anything may be found by chance.
		return spans[:first]
	}
	if as.depth < maxDepth {
		spans = pieces(b, as, spans)
	}
	return spans
}

func isBlob(b []byte) bool {
	if len(b) < 1024 {
		return false
	}
	end, _ := run(b, 0, isBase64|isWord)
	return end == len(b)
}

// pieces looks into JSON that stands in a text, as agy's "RAW WS MSG:" lines
// have it on stderr. It is also how a line is read that is JSON up to the byte
// at which somebody was killed.
func pieces(b []byte, as look, spans []span) []span {
	as.depth++
	for i := 0; i < len(b); {
		n := bytes.IndexAny(b[i:], "{[")
		if n < 0 {
			break
		}
		i += n
		w := walker{b: b, as: as, spans: spans}
		end, _ := w.walk(i, inPlain)
		spans = w.spans
		i = max(end, i+1)
	}
	return spans
}

// words finds secrets by the words before them, and by their own looks.
func words(b []byte, spans []span) []span {
	s := theSieve()
	for from := -1; ; {
		at, w := s.next(b, from)
		if at < -1 {
			return spans
		}
		from = at + 1
		for _, r := range w.rules {
			start, end, ok := 0, 0, false
			switch r {
			case ruleKey:
				start, end, ok = named(b, at)
			case ruleBearer:
				start, end, ok = bearer(b, at)
			case ruleBasic:
				start, end, ok = basic(b, at)
			case rulePEM:
				start, end, ok = pem(b, at)
			case ruleUser:
				start, end, ok = curlUser(b, at)
			case ruleShape:
				start, end, ok = shaped(b, at)
			}
			if !ok {
				continue
			}
			// What was replaced before is not again, with whatever followed it.
			if v := b[start:end]; !isReplaced(v) {
				spans = append(spans, span{start, end, Marker})
				from = max(from, end-2)
			}
		}
	}
}

func shaped(b []byte, at int) (start, end int, ok bool) {
	for i := range shapes {
		start = shapes[i].begin(at)
		if end = shapes[i].match(b, start); end >= 0 {
			return start, end, true
		}
	}
	return 0, 0, false
}

// bearer takes the token behind the word Bearer, of which the window "arer" was
// found. Written small it may be a word of a sentence, and then what follows
// must look like a token.
func bearer(b []byte, at int) (start, end int, ok bool) {
	word := at - 2
	if word < 0 || !hasFold(b[word:], "bearer") || !wordStart(b, word) {
		return 0, 0, false
	}
	start = spaces(b, word+6)
	if start == word+6 {
		return 0, 0, false
	}
	if start = colour(b, start); start < len(b) && isQuote(b[start]) {
		return quotedSecret(b, start)
	}
	end = start
	looks := false
	for end < len(b) && (chars[b[end]]&(isWord|isDot|isBase64) != 0 || b[end] == '~') {
		if end > start && chars[b[end]]&isDigitOrCapital != 0 || chars[b[end]]&isAlnum == 0 {
			looks = true
		}
		end++
	}
	for end > start && b[end-1] == '.' {
		end--
	}
	if end == start {
		return 0, 0, false
	}
	switch string(bytes.ToLower(b[start:min(end, start+16)])) {
	case "token", "tokens", "auth", "authentication", "authorization", "scheme", "header", "headers", "or", "and", "of", "is":
		return 0, 0, false
	}
	if b[word] == 'b' && !(looks && end-start >= 6 || end-start >= 20) {
		return 0, 0, false
	}
	return start, end, true
}

// basic takes user and password behind the word Basic. Since that is a word of
// every manual, what follows must be base64 of two words and a colon, or look
// padded.
func basic(b []byte, at int) (start, end int, ok bool) {
	word := at - 2
	if word < 0 || !hasFold(b[word:], "basic") || !wordStart(b, word) {
		return 0, 0, false
	}
	start = spaces(b, word+5)
	if start == word+5 {
		return 0, 0, false
	}
	end, _ = run(b, start, isBase64)
	v := b[start:end]
	if len(v) < 4 || len(v) > 8192 {
		return 0, 0, false
	}
	if v[len(v)-1] == '=' && len(v) >= 8 {
		return start, end, true
	}
	text, err := base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(v, "=")))
	return start, end, err == nil && bytes.IndexByte(text, ':') >= 0
}

// pem takes a private key between its first and its last line, of which the
// window "TE K" was found.
func pem(b []byte, at int) (start, end int, ok bool) {
	head := at + len("TE KEY")
	if !bytes.HasPrefix(b[min(head, len(b)):], []byte("-----")) {
		// "PRIVATE KEY BLOCK-----" is PGP's.
		if !bytes.HasPrefix(b[min(head, len(b)):], []byte(" BLOCK-----")) {
			return 0, 0, false
		}
		head += len(" BLOCK")
	}
	begin := bytes.LastIndex(b[max(0, at-48):at], []byte("-----BEGIN "))
	if begin < 0 {
		return 0, 0, false
	}
	start = head + 5
	end = len(b)
	if n := bytes.Index(b[start:], []byte("-----END")); n >= 0 {
		end = start + n
	}
	for start < end && b[start] <= ' ' {
		start++
	}
	for end > start && b[end-1] <= ' ' {
		end--
	}
	return start, end, end > start
}

func spaces(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}
