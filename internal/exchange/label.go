package exchange

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// message is a frame of a recording.
type message struct {
	line []byte
	// from is whose it is, where labelled tells that the recording says so.
	from     Side
	labelled bool
	when     moment
}

// errNoFrame is a line that says something else, as a header does.
var errNoFrame = errors.New("it is no frame")

// Where recorders put what they say about a frame, the first that is there. An
// object with "jsonrpc" is a frame itself.
var (
	frameKeys = []string{"raw", "frame", "message", "data", "msg", "line", "payload"}
	whoseKeys = []string{"direction", "dir", "from", "side", "source"}
	whenKeys  = []string{"timestamp", "ts", "time", "at", "t"}
)

// unwrap finds the frame in a line: the line itself, or what an object around it
// holds.
func unwrap(line []byte) (m message, err error) {
	if !wire.Valid(line) {
		return m, errors.New("it is no JSON")
	}
	var w wire.Message
	w.Parse(line)
	v := gjson.ParseBytes(bytes.TrimSpace(line))
	switch v.Get("type").Str {
	case "request", "response", "notification":
		if v.Get("ts").Exists() && v.Get("to").Exists() {
			return m, errors.New("it is an event of the Rust SDK's trace, which has no frames in it")
		}
	}
	if w.Kind == wire.Batch || w.Kind >= wire.Request && (v.Get("jsonrpc").Exists() || !wrapped(v)) {
		return message{line: line}, nil
	}
	if !v.IsObject() {
		return m, errors.New("it is no JSON-RPC message")
	}
	frame := member(v, frameKeys)
	switch {
	case frame.Type == gjson.String && v.Get("encoding").Str == "base64":
		if m.line, err = base64.StdEncoding.DecodeString(frame.Str); err != nil {
			return m, errors.New("its base64 cannot be read")
		}
	case frame.Type == gjson.String:
		m.line = []byte(frame.Str)
	case frame.IsObject() || frame.IsArray():
		m.line = []byte(frame.Raw)
	case v.Get("type").Str == "header", v.Get("event").Type == gjson.String:
		return m, errNoFrame
	default:
		return m, errors.New("there is no JSON-RPC message in it")
	}
	if !bytes.HasSuffix(m.line, []byte("\n")) {
		m.line = append(m.line, '\n')
	}
	m.from, m.labelled = whose(member(v, whoseKeys).String())
	m.when = instant(member(v, whenKeys))
	return m, nil
}

// wrapped tells an object around a frame from a frame without "jsonrpc".
func wrapped(v gjson.Result) bool {
	f := member(v, frameKeys)
	return f.IsObject() || f.Type == gjson.String && strings.Contains(f.Str, "jsonrpc")
}

func member(v gjson.Result, keys []string) gjson.Result {
	for _, k := range keys {
		if m := v.Get(k); m.Exists() && m.Type != gjson.Null {
			return m
		}
	}
	return gjson.Result{}
}

// whose reads a direction as recorders write it: "client", "editor-to-agent",
// "client -> agent", "stdin", "→". Sent, received, in and out depend on who looks,
// and say nothing.
func whose(text string) (s Side, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for side, begins := range [...][]string{
		Client: {"client", "editor", "ide", "user", "stdin", "c2a", "c2s", "to-agent", "to_agent", "toagent", "->", "→", ">"},
		Agent:  {"agent", "server", "stdout", "a2c", "s2c", "to-client", "to_client", "toclient", "<-", "←", "<"},
	} {
		for _, b := range begins {
			if strings.HasPrefix(text, b) {
				return Side(side), true
			}
		}
	}
	return 0, false
}

// moment is when a frame was recorded: at a time, or so long after the start.
type moment struct {
	at    time.Time
	after time.Duration
	kind  uint8
}

const (
	unknown uint8 = iota
	absolute
	relative
)

// instant reads a time: text as in RFC 3339, or a number, which counts seconds,
// milliseconds, microseconds or nanoseconds since 1970 as its size tells, or, under
// a thousand million, seconds since the start where it has a point, else
// milliseconds.
func instant(v gjson.Result) moment {
	if v.Type == gjson.String {
		if t, err := time.Parse(time.RFC3339Nano, v.Str); err == nil {
			return moment{at: t, kind: absolute}
		}
		n, err := json.Number(v.Str).Float64()
		if err != nil {
			return moment{}
		}
		v = gjson.Result{Type: gjson.Number, Num: n, Raw: v.Str}
	}
	if v.Type != gjson.Number || v.Num < 0 || math.IsInf(v.Num, 0) || math.IsNaN(v.Num) {
		return moment{}
	}
	switch n := v.Num; {
	case n >= 1e19:
		return moment{}
	case n >= 1e17:
		if ns, err := strconv.ParseInt(v.Raw, 10, 64); err == nil {
			return moment{at: time.Unix(0, ns), kind: absolute} // beyond what a float64 holds
		}
		return moment{}
	case n >= 1e14:
		return moment{at: time.UnixMicro(int64(n)), kind: absolute}
	case n >= 1e11:
		return moment{at: time.UnixMicro(int64(n * 1e3)), kind: absolute}
	case n >= 1e9:
		return moment{at: time.UnixMicro(int64(n * 1e6)), kind: absolute}
	case strings.ContainsAny(v.Raw, ".eE"):
		return moment{after: time.Duration(n * 1e9), kind: relative}
	default:
		return moment{after: time.Duration(n) * time.Millisecond, kind: relative}
	}
}
