package record

import (
	"bytes"
	"slices"
)

// nameClass is what a member's name says about its value.
type nameClass uint8

const (
	nameOther   nameClass = iota
	nameSecret            // the value is a secret
	nameHeaders           // the value is a list or map of headers or variables
	nameName              // the value names what its sibling "value" is
	nameValue
	nameTokens // strings in it that look like secrets are some
)

// secretEndings are what names of secrets end in, in lower case and without
// signs, by their last letter. Endings, since "githubToken", "x-api-key" and
// "AWS_SECRET_ACCESS_KEY" are secrets, and "tokenCount", "max_tokens",
// "totalTokens" and "keyboard" are not.
var secretEndings = [26][]string{
	'd' - 'a': {"password", "passwd"},
	'e' - 'a': {"passphrase", "passcode", "cookie", "devicecode"},
	'l' - 'a': {"credential"},
	'n' - 'a': {"token", "authorization"},
	'r' - 'a': {"bearer", "codeverifier"},
	's' - 'a': {"secrets", "passwords", "credentials", "cookies", "apikeys"},
	't' - 'a': {"secret", "jwt"},
	'y' - 'a': {"apikey", "accesskey", "secretkey", "privatekey", "authkey", "signingkey",
		"encryptionkey", "masterkey", "sharedkey", "accountkey", "subscriptionkey", "deploykey"},
}

// notSecret are names with such an ending that hold no secret: ids by which
// MCP and others tell one request, or one page, from another. A replayed
// capture needs them.
var notSecret = []string{"progresstoken", "pagetoken", "canceltoken", "cancellationtoken", "continuationtoken"}

// plainName writes a name in lower case and without signs into buf, and without
// the digits at its end. A name longer than buf is cut at its beginning.
func plainName(name []byte, buf *[64]byte) []byte {
	if len(name) > len(buf) {
		name = name[len(name)-len(buf):]
	}
	n, end := 0, 0
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z':
		case c >= '0' && c <= '9':
			buf[n] = c
			n++
			continue
		default:
			continue
		}
		buf[n] = c
		n++
		end = n
	}
	return buf[:end]
}

// secretName reports whether what goes by a name is a secret. The name is that
// of a member, a variable, a header or a flag.
func secretName(name []byte) bool {
	var buf [64]byte
	return secretPlain(plainName(name, &buf)) && spelled(name, ruleKey)
}

func secretPlain(n []byte) bool {
	if len(n) == 0 {
		return false
	}
	for _, e := range secretEndings[n[len(n)-1]-'a'] {
		if endsIn(n, e) {
			return !slices.ContainsFunc(notSecret, func(not string) bool { return endsIn(n, not) })
		}
	}
	return false
}

func endsIn(b []byte, end string) bool {
	return len(b) >= len(end) && string(b[len(b)-len(end):]) == end
}

// spelled reports whether a rule's word stands in a name in one piece: "api-key"
// is a name for a secret, and "to-ken" is not. (The quick look at a frame would
// not find it.)
func spelled(name []byte, r rule) bool {
	if len(name) > 64 {
		name = name[len(name)-64:]
	}
	var buf [66]byte
	buf[0] = ' '
	name = append(append(buf[:1], name...), ' ')
	for from := 0; ; {
		at, w := theSieve().next(name, from)
		if at < 0 {
			return false
		}
		if slices.Contains(w.rules, r) {
			return true
		}
		from = at + 1
	}
}

func classify(name []byte) nameClass {
	var buf [64]byte
	n := plainName(name, &buf)
	switch string(n) {
	case "headers", "env", "environ", "environment", "envvars", "envvariables", "environmentvariables",
		"httpheaders", "requestheaders", "responseheaders", "extraheaders", "customheaders", "defaultheaders":
		if spelled(name, ruleName) {
			return nameHeaders
		}
	case "name", "key", "header":
		return nameName
	case "value":
		return nameValue
	case "tokens":
		return nameTokens
	}
	if secretPlain(n) && spelled(name, ruleKey) {
		return nameSecret
	}
	return nameOther
}

// harmless are members that say what a secret is, not what it reads: "api-key":
// {"provider":"google"}, or the schema of a tool's argument "password". (Gemini's
// authMethods are such.)
func harmless(name []byte) bool {
	switch string(name) {
	case "type", "name", "provider", "kind", "format", "title", "description":
		return true
	}
	return false
}

// behindFlag says what the word behind this one in a command's list of words
// holds, if this is a flag: a secret, or a header or variable whose value is one.
func behindFlag(word []byte) place {
	if len(word) < 2 || word[0] != '-' || bytes.IndexByte(word, '=') >= 0 {
		return inPlain
	}
	switch string(word) {
	case "-H":
		return inEntry
	case "-e":
		return inVariable
	}
	var buf [64]byte
	n := plainName(word, &buf)
	switch {
	case secretPlain(n) && spelled(word, ruleKey):
		return inFlagged
	case (endsIn(n, "header") || endsIn(n, "headers")) && spelled(word, ruleName):
		return inEntry
	case string(n) == "env" && spelled(word, ruleName):
		return inVariable
	}
	return inPlain
}

// pairValue returns where the value begins of a header or variable in one
// string: "Name: value", "NAME=value", or as acp-shim's own flag has it
// "server:Name=value". It is -1 where there is none. A variable must be written
// in capitals: "-e" has other uses.
func pairValue(s []byte, variable bool) int {
	eq := bytes.IndexByte(s, '=')
	if variable {
		for i := range max(eq, 0) {
			if s[i] != '_' && chars[s[i]]&isUpper == 0 {
				return -1
			}
		}
		if eq <= 0 {
			return -1
		}
		return eq + 1
	}
	colon := bytes.Index(s, []byte(": "))
	if colon >= 0 && (eq < 0 || colon < eq) {
		return colon + 2
	}
	if eq >= 0 {
		return eq + 1
	}
	if colon := bytes.IndexByte(s, ':'); colon >= 0 {
		return colon + 1
	}
	return -1
}
