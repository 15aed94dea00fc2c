package record

import "bytes"

// named takes what stands behind the name of a secret in a text: token=...,
// "apiKey": "...", X-Api-Key: ..., --password .... The window that was found is
// at offset at. A text is a sentence or a program as often as it is a
// header, so a value without quotes behind a colon must look like one.
func named(b []byte, at int) (start, end int, ok bool) {
	nameStart, nameEnd := max(at, 0), max(at, 0)
	for nameStart > 0 && at-nameStart < 64 && isNameByte(b[nameStart-1]) {
		nameStart--
	}
	for nameEnd < len(b) && nameEnd-at < 64 && isNameByte(b[nameEnd]) {
		nameEnd++
	}
	if nameStart > 0 && nameStart < nameEnd && b[nameStart-1] == '\\' && bytes.IndexByte([]byte("nrtbf"), b[nameStart]) >= 0 {
		nameStart++ // the letter of an escape
	}
	name := b[nameStart:nameEnd]
	if !secretName(name) {
		return spacedKey(b, nameStart, nameEnd)
	}
	if start, end, ok = element(b, nameStart, nameEnd); ok {
		return start, end, ok
	}
	if nameEnd < len(b) && b[nameEnd] == '`' {
		return afterName(b, nameEnd+1)
	}
	i, quoted := nameEnd, false
	// The name's own closing quote, escaped as often as the text is.
	for i < len(b) && b[i] == '\\' {
		i++
	}
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		i, quoted = i+1, true
		if i < len(b) && b[i] == ']' {
			i++
		}
	} else if i > nameEnd {
		return 0, 0, false
	}
	sep := spaces(b, i)
	if sep >= len(b) {
		return 0, 0, false
	}
	v := sep + 1
	switch b[sep] {
	case '=':
		if v < len(b) && b[v] == '=' {
			return 0, 0, false
		}
		if v < len(b) && b[v] == '>' {
			v++
		}
		if _, url := queryName(b, nameEnd); url && sep == nameEnd {
			return 0, 0, false // see queries
		}
	case ':':
		if v < len(b) && b[v] == ':' {
			return 0, 0, false
		}
		if v < len(b) && b[v] == '=' {
			v++
		}
	default:
		if sep > i && !quoted && name[0] == '-' {
			return flagged(b, sep)
		}
		if !quoted && string(name) == "password" {
			return netrc(b, nameStart, nameEnd)
		}
		return 0, 0, false
	}
	loose := b[sep] == ':' || v < len(b) && (b[v] == ' ' || b[v] == '\t')
	v = spaces(b, v)
	if start, end, ok = quotedValue(b, v); start > 0 {
		return start, end, ok
	}
	var buf [64]byte
	switch plain := string(plainName(name, &buf)); {
	case loose && (plain == "authorization" || plain == "proxyauthorization"):
		return credentials(b, nameStart, v)
	case loose && (plain == "cookie" || plain == "setcookie"):
		// The first cookie is enough to tell a header from a sentence.
		if bytes.IndexByte(b[v:restOfLine(b, nameStart, v, 256)], '=') < 0 {
			return 0, 0, false
		}
		return v, restOfLine(b, nameStart, v, len(b)), true
	}
	return bare(b, name, v, loose)
}

func isNameByte(c byte) bool {
	return chars[c]&(isWord|isDot) != 0
}

// flagged takes the word behind a flag.
func flagged(b []byte, i int) (start, end int, ok bool) {
	if start, end, ok = quotedValue(b, i); start > 0 {
		return start, end, ok
	}
	end = i
	for end < len(b) && !endsBare(b[end]) {
		end++
	}
	return i, end, end > i && b[i] != '-' && looksSecret(b[i:end])
}

// quotedValue takes what stands between quotes, which are escaped as often as
// the text is. Without the closing one it reaches to the end of the line. start
// is 0 where there are no quotes; ok tells that what they hold may be a secret.
func quotedValue(b []byte, i int) (start, end int, ok bool) {
	open := i
	for i < len(b) && b[i] == '\\' {
		i++
	}
	if i >= len(b) || b[i] != '"' && b[i] != '\'' && b[i] != '`' {
		return 0, 0, false
	}
	q, level := b[i], i-open
	start = i + 1
	// Told by its first bytes, so that a long text of nothing but these is not
	// read to its end for each.
	if expands(b[start:]) {
		return start, start, false
	}
	slashes := 0
	for end = start; end < len(b); end++ {
		switch c := b[end]; {
		case c == '\\':
			slashes++
			continue
		case c == q && slashes <= level:
			end -= slashes
			return start, end, end > start && !isVariable(b[start:end])
		case c == '\n':
			return start, end, end > start
		}
		slashes = 0
	}
	return start, end, end > start
}

// credentials takes the value of an Authorization header and leaves its scheme.
// It decides by the beginning of the line, and reads on only for what it takes:
// a text may be one long line of nothing but these.
func credentials(b []byte, name, v int) (start, end int, ok bool) {
	head := b[v:restOfLine(b, name, v, 256)]
	if len(head) == 0 || isVariable(head) || bytes.IndexByte([]byte("[{(<"), head[0]) >= 0 && !isReplaced(head) {
		return 0, 0, false
	}
	scheme, rest, two := bytes.Cut(head, []byte(" "))
	if !two {
		return v, restOfLine(b, name, v, len(b)), true
	}
	switch start = v + len(scheme) + 1; string(bytes.ToLower(scheme)) {
	case "bearer", "basic", "token", "apikey", "key", "negotiate":
		// One word. What follows it in a sentence is not a part of it.
		if n := bytes.IndexAny(rest, " ,;"); n >= 0 {
			return start, start + n, n > 0 && !isVariable(rest[:n])
		}
		return start, restOfLine(b, name, v, len(b)), len(rest) > 0 && !isVariable(rest)
	case "digest", "aws4-hmac-sha256":
		return start, restOfLine(b, name, v, len(b)), true
	}
	if !hasDigit(head) || isReplaced(head) {
		return 0, 0, false
	}
	return v, restOfLine(b, name, v, len(b)), true
}

func hasDigit(b []byte) bool {
	return bytes.ContainsAny(b, "0123456789")
}

// restOfLine returns the end of a header that stands in a text: the quote that
// it was opened with, or the end of the line, or at most limit bytes on.
func restOfLine(b []byte, name, v, limit int) int {
	quote := byte('\n')
	if name > 0 && (b[name-1] == '"' || b[name-1] == '\'') {
		quote = b[name-1]
	}
	end, stop := v, min(len(b), v+limit)
	for end < stop && b[end] != '\n' && b[end] != '\r' && b[end] != quote {
		end++
	}
	for end > v && (b[end-1] == ' ' || b[end-1] == '\\') {
		end--
	}
	return end
}

func endsBare(c byte) bool {
	switch c {
	case '"', '\'', '`', '&', ';', ',', '<', '>', '(', ')', '[', ']', '{', '}', '|', '\\':
		return true
	}
	return c <= ' '
}

// bare takes a value without quotes.
func bare(b []byte, name []byte, v int, loose bool) (start, end int, ok bool) {
	end = v
	for end < len(b) && !endsBare(b[end]) {
		end++
	}
	if end-v < 512 && end < len(b) && (b[end] == '(' || b[end] == '[') {
		return 0, 0, false // a call, or an element of something, or done before
	}
	for end > v && b[end-1] == '.' {
		end--
	}
	value := b[v:end]
	if len(value) == 0 || !looksSecret(value) || bytes.EqualFold(value, name) {
		return 0, 0, false
	}
	header := bytes.IndexByte(bytes.TrimLeft(name, "-"), '-') > 0
	if loose && !header && len(value) < 20 && !hasDigit(value) {
		return 0, 0, false
	}
	return v, end, true
}

// looksSecret tells a value from a variable, from the words that programs have
// for nothing, and from a count: "token: 4096".
func looksSecret(v []byte) bool {
	if isVariable(v) {
		return false
	}
	switch string(bytes.ToLower(v[:min(len(v), 16)])) {
	case "null", "nil", "none", "true", "false", "undefined", "string", "str", "bool", "required", "optional":
		return false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return true
		}
	}
	return false
}

// isVariable reports whether v names where a secret is, and is none: $NAME,
// ${NAME}, $(command), {{name}}, or a format's %s.
func isVariable(v []byte) bool {
	if len(v) < 2 || expands(v) {
		return len(v) > 1
	}
	switch v[0] {
	case '$':
		for _, c := range v[1:] {
			if c != '_' && chars[c]&isUpper == 0 {
				return false
			}
		}
		return v[1] < '0' || v[1] > '9'
	case '%':
		return len(v) == 2 && chars[v[1]]&isAlnum != 0
	}
	return false
}

// expands tells the same by the first two bytes.
func expands(v []byte) bool {
	return len(v) > 1 && (v[0] == '$' && (v[1] == '{' || v[1] == '(') || v[0] == '{' && v[1] == '{')
}
