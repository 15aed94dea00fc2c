package record

import "bytes"

// querySecret reports whether a name is what secrets are called in the query or fragment of a URL,
// beside what is called a secret everywhere; those of OAuth, and of signed URLs.
func querySecret(name []byte) bool {
	var buf [64]byte
	switch n := plainName(name, &buf); string(n) {
	case "code", "usercode", "state", "key", "sig", "signature", "codechallenge", "assertion", "clientassertion",
		"samlresponse", "ticket", "auth", "pwd", "xamzsignature", "xamzcredential", "xgoogsignature", "xgoogcredential":
		return true
	default:
		return secretPlain(n)
	}
}

// queryName returns where the name begins that ends at the "=" at b[eq], when
// it is that of a parameter in a URL. Where the URL is a parameter of another
// one, and so is percent-encoded, eq is the offset of its "%3D".
func queryName(b []byte, eq int) (int, bool) {
	i := eq
	for i > 0 && eq-i < 64 {
		c := b[i-1]
		if chars[c]&isWord == 0 && c != '.' && c != '%' {
			break
		}
		i--
	}
	// The separator may be encoded, too: %3F, %26, %23, and twice %253F.
	name := b[i:eq]
	for k := len(name) - 3; k >= 0; k-- {
		if n := encodedSeparator(name[k:]); n > 0 {
			return i + k + n, k+n < len(name)
		}
	}
	if len(name) == 0 || i == 0 {
		return i, false
	}
	switch b[i-1] {
	case '?', '&', '#':
		return i, true
	case ';':
		return i, bytes.HasSuffix(b[:i], []byte("&amp;"))
	}
	return i, false
}

// encodedSeparator returns the length of the "?", "&" or "#" that b begins with
// percent-encoded, once or twice, or 0.
func encodedSeparator(b []byte) int {
	if b[0] != '%' {
		return 0
	}
	n := 3
	if len(b) >= 5 && b[1] == '2' && b[2] == '5' {
		n = 5
	}
	switch c := b[n-1]; b[n-2] {
	case '3':
		if c|0x20 == 'f' {
			return n
		}
	case '2':
		if c == '6' || c == '3' {
			return n
		}
	}
	return 0
}

// queries finds the secret parameters of URLs in a text, also of those that
// stand without scheme and host, as a server's log has them.
func queries(b []byte, spans []span) []span {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '=')
		if n < 0 {
			break
		}
		eq := i + n
		i = eq + 1
		if from, ok := queryName(b, eq); ok {
			spans, i = parameter(b, from, eq, eq+1, "", spans)
		}
	}
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '%')
		if n < 0 {
			break
		}
		eq := i + n
		i = eq + 1
		level := encodedEquals(b[eq:])
		if level == "" {
			continue
		}
		if from, ok := queryName(b, eq); ok {
			spans, i = parameter(b, from, eq, eq+len(level)+2, level, spans)
		}
	}
	return spans
}

// encodedEquals returns the percent sign of an encoded "=" that b begins with,
// "%25" where it is encoded twice.
func encodedEquals(b []byte) string {
	for _, pct := range []string{"%", "%25"} {
		if rest, ok := bytes.CutPrefix(b, []byte(pct)); ok && len(rest) >= 2 && rest[0] == '3' && rest[1]|0x20 == 'd' {
			return pct
		}
	}
	return ""
}

// parameter takes the value of a parameter where its name is that of a secret,
// and returns where to go on.
func parameter(b []byte, from, eq, value int, pct string, spans []span) ([]span, int) {
	if !querySecret(unescapePercent(b[from:eq])) {
		return spans, value
	}
	end := value
	for end < len(b) && !endsURL(b[end]) && b[end] != '&' && b[end] != '#' {
		if pct != "" && (hasFold(b[end:], pct+"26") || hasFold(b[end:], pct+"23")) {
			break
		}
		end++
	}
	for end > value && (b[end-1] == '.' || b[end-1] == ',') {
		end-- // of a sentence
	}
	if v := b[value:end]; len(v) > 0 && !isReplaced(v) && !isVariable(v) {
		spans = append(spans, span{value, end, URLMarker})
	}
	return spans, max(end, value)
}

func endsURL(c byte) bool {
	switch c {
	case '"', '\'', '<', '>', '`', '\\', '(', ')', '[', ']', '{', '}', '|', '^', ';', 0x7f:
		return true
	}
	return c <= ' '
}

func hasFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], []byte(prefix))
}

func unescapePercent(b []byte) []byte {
	if bytes.IndexByte(b, '%') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) {
			if r, ok := hex4([]byte{'0', '0', b[i+1], b[i+2]}, 0); ok {
				out = append(out, byte(r))
				i += 2
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

// userinfos finds what stands before the host in URLs. The user "git" without a
// password is no secret, and most addresses of repositories have it.
func userinfos(b []byte, spans []span) []span {
	for i := 0; i < len(b); {
		n := bytes.Index(b[i:], []byte("://"))
		if n < 0 {
			break
		}
		from := i + n + 3
		i = from
		if from == 3 || chars[b[from-4]]&isAlnum == 0 {
			continue
		}
		at := -1
		for ; i < len(b) && !endsAuthority(b[i]); i++ {
			if b[i] == '@' {
				at = i
			}
		}
		if at < 0 {
			continue
		}
		if info := b[from:at]; len(info) > 0 && !isReplaced(info) && string(info) != "git" {
			spans = append(spans, span{from, at, URLMarker})
		}
	}
	return spans
}

func endsAuthority(c byte) bool {
	switch c {
	case '/', '?', '#', '"', '\'', '<', '>', '`', '\\':
		return true
	}
	return c <= ' '
}
