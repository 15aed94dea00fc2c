package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"acp-shim/internal/trace"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Viewer writes the events that the Rust SDK's trace viewer reads, .jsons: the
// shim is proxy:0, and all processes are the agent. What is no JSON-RPC message
// has no event there and is left out.
type Viewer struct {
	Out io.Writer
	Raw bool

	line []byte
	run  int
	base float64 // seconds that earlier runs took
	last float64
}

const (
	viewerClient = "client"
	viewerShim   = "proxy:0"
	viewerAgent  = "agent"
)

// Add writes an event for each end that a frame has crossed.
func (v *Viewer) Add(r *trace.Record) error {
	if r.Kind == trace.Header {
		if r.Run != v.run {
			v.run, v.base = r.Run, v.last
		}
		return nil
	}
	v.last = max(v.last, v.base+r.T.Seconds())
	for _, at := range []Side{Client, Agent} {
		// The end that a frame comes in at is the first that it crosses.
		if r.From.Gen() > 0 {
			at = Agent - at
		}
		c, ok := Wire{At: at, Both: true, Raw: v.Raw}.Of(r)
		if !ok {
			continue
		}
		if err := v.event(r, at, c); err != nil {
			return err
		}
	}
	return nil
}

func (v *Viewer) event(r *trace.Record, at Side, c Crossed) error {
	// A file that is not UTF-8 is none to the viewer, not one of its lines.
	line := bytes.ToValidUTF8(c.Line, []byte("\ufffd"))
	var m wire.Message
	if m.Parse(line); m.Kind < wire.Request || !wire.Valid(line) {
		return nil
	}
	outer, inner := viewerClient, viewerShim
	if at == Agent {
		outer, inner = viewerShim, viewerAgent
	}
	from, to := outer, inner
	if c.From == Agent {
		from, to = inner, outer
	}
	// Members are put together as they are: encoding them anew would take most of the
	// time.
	b := append(v.line[:0], `{"ts":`...)
	b = strconv.AppendFloat(b, v.base+r.T.Seconds(), 'f', -1, 64)
	add := func(key string, value []byte) {
		b = append(append(append(append(b, `,"`...), key...), `":`...), value...)
	}
	add("type", []byte(`"`+m.Kind.String()+`"`)) // request, notification, response
	if m.Kind != wire.Response {
		add("protocol", []byte(`"acp"`))
	}
	add("from", []byte(`"`+from+`"`))
	add("to", []byte(`"`+to+`"`))
	switch m.Kind {
	case wire.Response:
		add("id", v.id(&m, asker(r)))
		if m.Error.Found() {
			add("is_error", []byte("true"))
			add("payload", value(&m, m.Error))
		} else {
			add("is_error", []byte("false"))
			add("payload", value(&m, m.Result))
		}
	case wire.Request:
		add("id", v.id(&m, r.From))
	}
	if m.Kind != wire.Response {
		add("method", quoted([]byte(harmless(m.Method))))
		if r.Session != "" {
			add("session", quoted([]byte(r.Session)))
		}
		add("params", value(&m, m.Params))
	}
	v.line = append(b, "}\n"...)
	_, err := v.Out.Write(v.line)
	return err
}

// asker is whose request a response answers.
func asker(r *trace.Record) proxy.Peer {
	if r.Request != nil {
		return r.Request.From
	}
	return r.To
}

// id is the id of a frame, made unique where the viewer, which knows no two
// processes and no two runs, would take it for another: processes count their
// requests each from 0.
func (v *Viewer) id(m *wire.Message, asker proxy.Peer) []byte {
	id := value(m, m.ID)
	var prefix string
	if v.run > 1 {
		prefix = fmt.Sprintf("run%d:", v.run)
	}
	if n := asker.Gen(); n > 1 {
		prefix += fmt.Sprintf("agent#%d:", n)
	}
	if prefix == "" {
		return id
	}
	b, _ := json.Marshal(prefix + string(id))
	return b
}

// value is the text of a member, null where it is not there: the viewer wants
// params and payload always.
func value(m *wire.Message, s wire.Span) []byte {
	if !s.Found() {
		return []byte("null")
	}
	return m.Text(s)
}

// harmless is a method without what would be markup in the viewer's page.
func harmless(method string) string {
	if !strings.ContainsAny(method, "<>&") {
		return method
	}
	return strings.NewReplacer("<", "‹", ">", "›", "&", "+").Replace(method)
}

// End has nothing left to do.
func (v *Viewer) End() error { return nil }
