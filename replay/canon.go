package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/record"
)

// key stands for normalised params.
type key [16]byte

// here stands for a session's working directory in normalised params. No text has
// it: U+0000 is not in paths, and not in prompts that an agent would take.
const here = "\x00here"

// decode is a JSON value with its numbers as they are written. What is not JSON,
// or too deep for the standard decoder, is its own text.
func decode(text []byte) any {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(text)
	}
	return v
}

// normalised is the value of a request's params as it is compared. cwd is the
// session's directory, "" to leave paths as they are.
func normalised(method string, params []byte, cwd string) any {
	v := decode(params)
	if top, ok := v.(map[string]any); ok {
		delete(top, "sessionId")
		delete(top, "_meta")
		switch method {
		case acp.AgentMethodInitialize:
			delete(top, "clientInfo") // says who, not what
		case acp.AgentMethodSessionPrompt:
			delete(top, "messageId") // Zed makes a new one each time
		case cancelRequest:
			delete(top, "requestId")
		}
		if s, ok := top["mcpServers"]; ok {
			top["mcpServers"] = anyPort(s)
		}
	}
	return normal(v, newPaths(cwd, here))
}

func normal(v any, paths *change) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if v[k] = normal(x, paths); nothing(v[k]) {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i], paths)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	case string:
		return paths.text(v)
	}
	return v
}

// nothing tells a value that says no more than its absence: a client that has no
// servers to name sends an empty list, or none.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// anyPort takes the ports from URLs of this machine: a server that a client
// starts for itself has another one each time.
func anyPort(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = anyPort(x)
		}
	case []any:
		for i := range v {
			v[i] = anyPort(v[i])
		}
	case string:
		for _, host := range [...]string{"://127.0.0.1:", "://localhost:", "://[::1]:"} {
			before, after, ok := strings.Cut(v, host)
			if ok {
				return before + host + strings.TrimLeft(after, "0123456789")
			}
		}
	}
	return v
}

func keyOf(v any) (k key) {
	b, err := json.Marshal(v)
	if err != nil {
		return k
	}
	sum := sha256.Sum256(b)
	copy(k[:], sum[:])
	return k
}

// keys are those of params with their paths as they are, and with the session's
// directory taken from them.
func keys(method string, params []byte, cwd string) (plain, moved key) {
	plain = keyOf(normalised(method, params, ""))
	if cwd == "" {
		return plain, plain
	}
	return plain, keyOf(normalised(method, params, cwd))
}

// The marks that a capture has in the place of what was taken from it.
const blobMark = "[blob: "

// marked tells that something in a text may have been replaced.
func marked(text []byte) bool {
	return bytes.Contains(text, []byte(record.URLMarker)) || bytes.Contains(text, []byte(blobMark))
}

// pieces are what stands around the marks of a string, nil if it has none.
func pieces(s string) []string {
	var list []string
	rest, at := s, 0
	for {
		i, n := nextMark(rest[at:])
		if i < 0 {
			break
		}
		list = append(list, rest[:at+i])
		rest, at = rest[at+i+n:], 0
	}
	if list == nil {
		return nil
	}
	return append(list, rest)
}

func nextMark(s string) (at, n int) {
	at = -1
	if i := strings.Index(s, record.Marker); i >= 0 {
		at, n = i, len(record.Marker)
	}
	if i := strings.Index(s, blobMark); i >= 0 && (at < 0 || i < at) {
		if end := strings.IndexByte(s[i:], ']'); end >= 0 {
			at, n = i, end+1
		}
	}
	// In a URL there are no brackets around it.
	if i := strings.Index(s, record.URLMarker); i >= 0 && (at < 0 || i < at) && strings.Contains(s, "://") {
		at, n = i, len(record.URLMarker)
	}
	return at, n
}

// alike compares a recorded string, which may have marks, with another.
func alike(recorded, got string) bool {
	if recorded == got {
		return true
	}
	list := pieces(recorded)
	if list == nil {
		return false
	}
	got, ok := strings.CutPrefix(got, list[0])
	if !ok {
		return false
	}
	last := list[len(list)-1]
	for _, p := range list[1 : len(list)-1] {
		i := strings.Index(got, p)
		if i < 0 {
			return false
		}
		got = got[i+len(p):]
	}
	return strings.HasSuffix(got, last)
}
