package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Check holds a frame against the schema: as it was received, which is its sender's
// doing, and where the shim has changed it as it was sent, which is the shim's. The
// error is for a schema that cannot be read.
func Check(r *trace.Record) ([]Finding, error) {
	if r.Kind == trace.Header || r.Kind == trace.Event || r.Again && len(r.Edits) == 0 {
		return nil, nil
	}
	all, err := rules()
	if err != nil {
		return nil, err
	}
	c := checker{rules: all, r: r}
	sent := c.frame(r.Sent())
	if len(r.Edits) == 0 || r.From == proxy.Shim {
		return c.named(sent, who(r.From), nil), nil
	}
	received := c.frame(r.Received())
	if r.Again {
		received = nil // it was checked when it came
	}
	list := c.named(received, who(r.From), sent)
	return append(list, c.named(without(sent, received), "shim", nil)...), nil
}

func who(p proxy.Peer) string {
	switch {
	case p == proxy.Client:
		return "client"
	case p.Gen() > 0:
		return "agent"
	}
	return "shim"
}

type checker struct {
	rules map[place]rule
	r     *trace.Record
}

// named fills in whose findings they are. What is not in after was mended.
func (c checker) named(list []Finding, who string, after []Finding) []Finding {
	edited := len(c.r.Edits) > 0 && who != "shim"
	for i := range list {
		f := &list[i]
		f.Mended = edited && !has(after, *f)
		f.Seq, f.Run, f.Who, f.Method, f.Count = c.r.Seq, c.r.Run, who, c.r.Method, 1
	}
	return list
}

func has(list []Finding, f Finding) bool {
	for _, g := range list {
		if g.Path == f.Path && g.Says == f.Says {
			return true
		}
	}
	return false
}

func without(list, known []Finding) (rest []Finding) {
	for _, f := range list {
		if !has(known, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

func violation(part, path, says string) Finding { return Finding{Part: part, Path: path, Says: says} }

func warning(part, path, says string) Finding {
	return Finding{Part: part, Path: path, Says: says, Warning: true}
}

// frame checks one form of a frame.
func (c checker) frame(line []byte) []Finding {
	line = bytes.TrimSpace(line)
	var m wire.Message
	m.Parse(line)
	switch m.Kind {
	case wire.Blank:
		return []Finding{warning("frame", "", "a blank line is no message")}
	case wire.Noise:
		says := "a line that is no JSON"
		if wire.Valid(line) {
			says = "a line that is no message"
		}
		return []Finding{violation("frame", "", says)}
	case wire.Batch:
		return []Finding{warning("frame", "", "ACP has no batches")}
	case wire.Opaque:
		return []Finding{violation("frame", "", "an object that is no message: it has neither a method nor a result or error, or is cut short")}
	}
	if !wire.Valid(line) {
		return []Finding{violation("frame", "", "it is no valid JSON")}
	}
	list := envelope(line, &m)
	switch m.Kind {
	case wire.Request:
		return append(list, c.body(side(c.r.From, c.r.To), m.Method, partRequest, "params", m.Text(m.Params))...)
	case wire.Notification:
		return append(list, c.body(side(c.r.From, c.r.To), m.Method, partNotification, "params", m.Text(m.Params))...)
	}
	if !m.Result.Found() || c.r.Request == nil {
		return list
	}
	return append(list, c.body(side(c.r.Request.From, c.r.Request.To), c.r.Request.Method, partResponse, "result", m.Text(m.Result))...)
}

// side is who carries out what crosses an edge.
func side(from, to proxy.Peer) string {
	if from.Gen() > 0 || to == proxy.Client {
		return "client"
	}
	return "agent"
}

// envelope checks what JSON-RPC 2.0 wants.
func envelope(line []byte, m *wire.Message) (list []Finding) {
	top := gjson.ParseBytes(line)
	if v := top.Get("jsonrpc"); v.Str != "2.0" {
		says := `it must be "2.0"`
		if !v.Exists() {
			says = `jsonrpc is missing: it must be "2.0"`
		}
		list = append(list, violation("frame", "jsonrpc", says))
	}
	if id := top.Get("id"); id.Exists() && id.Type != gjson.String && id.Type != gjson.Number && id.Type != gjson.Null {
		list = append(list, violation("frame", "id", "it must be a number, a string or null"))
	}
	if m.Kind != wire.Response {
		return list
	}
	result, e := top.Get("result"), top.Get("error")
	switch {
	case result.Exists() && e.Exists():
		list = append(list, violation("frame", "", "it has both a result and an error"))
	case !result.Exists() && !e.Exists():
		list = append(list, violation("frame", "", "it has neither a result nor an error"))
	case e.Exists():
		if code := e.Get("code"); code.Type != gjson.Number || strings.ContainsAny(code.Raw, ".eE") {
			list = append(list, violation("error", "error.code", "it must be an integer"))
		}
		if e.Get("message").Type != gjson.String {
			list = append(list, violation("error", "error.message", "it must be a string"))
		}
	}
	return list
}

// body checks params or a result.
func (c checker) body(side, method, part, name string, text []byte) []Finding {
	rule, ok := c.rules[place{side, method, part}]
	if !ok {
		return c.unknown(side, method, part)
	}
	if len(text) == 0 {
		text = []byte("{}") // params may be left out where nothing in them is required
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []Finding{violation(name, name, "it cannot be read: "+err.Error())}
	}
	strict := rule.strict.Validate(v)
	if strict == nil {
		return nil
	}
	forbidden := findings(name, rule.lenient.Validate(v), false)
	return append(forbidden, without(findings(name, strict, true), forbidden)...)
}

func (c checker) unknown(side, method, part string) []Finding {
	if strings.HasPrefix(method, "_") || strings.HasPrefix(method, "$/") || part == partResponse {
		return nil
	}
	for _, where := range []string{side, "agent", "client"} {
		for _, other := range []string{partRequest, partNotification} {
			if _, ok := c.rules[place{where, method, other}]; !ok {
				continue
			}
			if where == side {
				return []Finding{violation("frame", "id", fmt.Sprintf("%s is a %s", method, strings.ToLower(other)))}
			}
			return []Finding{violation("frame", "method", fmt.Sprintf("%s is for the %s to carry out", method, where))}
		}
	}
	return []Finding{warning("frame", "method", fmt.Sprintf("%s is no method of ACP version 1", method))}
}

func findings(part string, err error, warnings bool) (list []Finding) {
	ve, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return nil
	}
	for _, leaf := range flatten(ve) {
		path := strings.Join(append([]string{part}, leaf.InstanceLocation...), ".")
		f := Finding{Part: part, Path: path, Says: says(leaf), Warning: warnings}
		if !has(list, f) {
			list = append(list, f)
		}
	}
	// The schema's members are looked at in no order.
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Says, b.Says))
	})
	return list
}
