package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"

	"acp-shim/internal/wire"
)

// blobSpans are the strings of a frame longer than limit that are base64: of
// pictures, sound and files. What stands in for one says how many bytes it
// stood for, their SHA-256, and what kind of file it was, where that stands
// beside it. The name of a member is left alone, and so is a frame that is no
// JSON.
func blobSpans(b []byte, limit int) (spans []span) {
	if len(b) <= limit || !wire.Valid(b) {
		return nil
	}
	var open []int // where the objects begin that are open; -1 for an array
	for i := 0; i < len(b); {
		switch b[i] {
		case '{':
			open = append(open, i)
		case '[':
			open = append(open, -1)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			from := i + 1
			i = wire.StringEnd(b, i)
			if i-1-from <= limit {
				continue
			}
			if next := wire.Space(b, i); next < len(b) && b[next] == ':' {
				continue
			}
			object := -1
			if len(open) > 0 {
				object = open[len(open)-1]
			}
			if s, ok := blobSpan(b, from, i-1, limit, object); ok {
				spans = append(spans, s)
			} else {
				spans = append(spans, runSpans(b, from, i-1, limit)...)
			}
			continue
		}
		i++
	}
	return spans
}

// blobSpan takes the string whose body is b[from:to], if it is base64, or a data
// URL that holds some.
func blobSpan(b []byte, from, to, limit, object int) (span, bool) {
	kind := ""
	if body := b[from:to]; bytes.HasPrefix(body, []byte("data:")) {
		n := bytes.Index(body[:min(len(body), 256)], []byte(";base64,"))
		if n < 0 {
			return span{}, false
		}
		kind = string(body[len("data:"):n])
		if from += n + len(";base64,"); to-from <= limit {
			return span{}, false
		}
	}
	text, ok := blobText(b[from:to])
	if !ok {
		return span{}, false
	}
	if kind == "" && object >= 0 {
		kind = kindBeside(b[object:])
	}
	by, ok := blobMarker(text, kind)
	return span{from, to, by}, ok
}

// runSpans are the runs of base64 in a text that is something else besides: words
// around it, or JSON as a string. Nothing but a file runs on for so long.
func runSpans(b []byte, from, to, limit int) (spans []span) {
	for at := from; at < to; {
		if chars[b[at]]&(isBase64|isWord) == 0 {
			at++
			if b[at-1] == '\\' {
				at++ // what is escaped is no part of it
			}
			continue
		}
		end := at
		for end < to && chars[b[end]]&(isBase64|isWord) != 0 {
			end++
		}
		if end-at > limit {
			if by, ok := blobMarker(b[at:end], ""); ok {
				spans = append(spans, span{at, end, by})
			}
		}
		at = end
	}
	return spans
}

// blobText is the base64 in the body of a string, without the escapes that some
// put in it. It reports false of what is something else.
func blobText(body []byte) ([]byte, bool) {
	escaped := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		if chars[c]&(isBase64|isWord) != 0 {
			continue
		}
		if c != '\\' || i+1 >= len(body) || body[i+1] != '/' && body[i+1] != 'n' && body[i+1] != 'r' {
			return nil, false
		}
		escaped = true
		i++
	}
	if escaped {
		body = unescape(body)
	}
	return body, true
}

// kindBeside is the type of a blob, as the object says that it stands in.
func kindBeside(object []byte) (kind string) {
	eachMember(object, func(key, v []byte) bool {
		switch string(key) {
		case "mimeType", "mime_type", "mediaType", "media_type", "contentType", "content_type":
			if v[0] == '"' {
				kind = string(unquote(v))
			}
		}
		return true
	})
	return kind
}

// blobMarker is what stands in for base64. It reports false of what only looks
// like some.
func blobMarker(text []byte, kind string) (string, bool) {
	text = bytes.TrimRight(text, "\r\n")
	text = bytes.TrimRight(text, "=")
	enc := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		enc = base64.RawURLEncoding
	}
	sum := counting{Hash: sha256.New()}
	if _, err := io.Copy(&sum, base64.NewDecoder(enc, bytes.NewReader(text))); err != nil {
		return "", false
	}
	marker := fmt.Sprintf("[blob: %d bytes, sha256 %x", sum.n, sum.Sum(nil))
	if isKind(kind) {
		marker += ", " + kind
	}
	return marker + "]", true
}

type counting struct {
	hash.Hash
	n int
}

func (c *counting) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.Hash.Write(p)
}

// isKind tells a type of file from any other text of a peer's.
func isKind(s string) bool {
	for i := range len(s) {
		if chars[s[i]]&(isWord|isDot) == 0 && s[i] != '/' && s[i] != '+' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 100
}

// blobRuns finds base64 longer than limit in a text, such as a line of stderr that
// has a whole frame in it.
func blobRuns(b []byte, limit int) (spans []span) {
	for i := 0; len(b)-i > limit; {
		end, _ := run(b, i, isBase64|isWord)
		if end-i > limit {
			if by, ok := blobMarker(b[i:end], ""); ok {
				spans = append(spans, span{i, end, by})
			}
		}
		i = end + 1
	}
	return spans
}
