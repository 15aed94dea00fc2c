package rewrite

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// keepLimit bounds the requests of which a copy is kept in case they are
// refused.
const keepLimit = 64 << 10

// errorLimit bounds how many of a refusal's errors are looked at.
const errorLimit = 16

// keep asks for a copy of a request that might have to be sent once more. A
// prompt is never sent twice, whatever the agent says to it.
func (r *Rewriter) keep(s *proxy.Step, m *proxy.Message) {
	if s.Own() || s.Request() == nil || len(m.Raw) > keepLimit || m.Method == methodPrompt {
		return
	}
	if knownFields(m.Method) != nil {
		s.Request().Keep()
	}
}

// oracle sends a request once more, in which a field that the agent does not
// know has the name of the one that it misses.
func oracle(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	req := s.Request()
	if m.Result.Found() {
		r.learn(s)
		return
	}
	if req.Sent() == nil || req.Marked(markResent) != nil || req.Method == methodPrompt || !req.Latest() {
		return
	}
	e := gjson.ParseBytes(m.Text(m.Error))
	if e.Get("code").Int() != codeInvalidParams {
		return
	}
	var again proxy.Message
	again.Parse(append([]byte(nil), req.Sent()...))
	fixes, ok := fix(&again, e.Get("data.errors"))
	if !ok {
		return
	}
	req.Mark(markResent, fixes)
	for _, f := range fixes {
		info(s, "a request was refused; it is sent once more with a field renamed",
			"method", f.Method, "in", f.In, "from", f.From, "to", f.To)
	}
	s.Resend(again.Raw, "sent once more, renamed by the agent's answer")
}

// fix renames in m what the errors are about. Unless that settles all of them
// nothing is worth another try.
func fix(m *proxy.Message, errors gjson.Result) ([]Rename, bool) {
	list := errors.Array()
	if !errors.IsArray() || len(list) == 0 || len(list) > errorLimit || !m.Object() {
		return nil, false
	}
	var p patch
	var fixes []Rename
	for _, e := range list {
		if !missing(e) {
			return nil, false
		}
		f, key, ok := findUnknown(m, e.Get("loc").Array())
		if !ok {
			return nil, false
		}
		p.rename(key, f.To)
		known := false
		for _, x := range fixes {
			known = known || x == f
		}
		if !known {
			fixes = append(fixes, f)
		}
	}
	// Two fields missing and one that is unknown: the patch would write the same
	// bytes twice, and refuses.
	return fixes, p.apply(m)
}

// missing tells a missing field by the words of the validator that the server
// vendors, and of its successor.
func missing(e gjson.Result) bool {
	t := e.Get("type").Str
	return t == "value_error.missing" || t == "missing" || t == "" && strings.EqualFold(e.Get("msg").Str, "field required")
}

// findUnknown follows the way to a missing field, and finds the one member
// beside it that the method does not know. The way may begin with "params", and
// name variants that are not in the frame.
func findUnknown(m *proxy.Message, loc []gjson.Result) (Rename, wire.Member, bool) {
	none := func() (Rename, wire.Member, bool) { return Rename{}, wire.Member{}, false }
	if len(loc) == 0 || len(loc) > 16 || loc[len(loc)-1].Type != gjson.String {
		return none()
	}
	fields := knownFields(m.Method)
	at, to := m.Params, loc[len(loc)-1].Str
	var in []string
	skipped := 0
	for _, step := range loc[:len(loc)-1] {
		if next, ok := m.Member(at, step.String()); ok {
			at, fields = next.Value, fields.at(step.String())
			in = append(in, escapePath(step.String()))
			continue
		}
		i, err := strconv.Atoi(step.String())
		if list := m.Elements(at); err == nil && i >= 0 && i < len(list) {
			at, fields = list[i], fields.element()
			in = append(in, "*")
			continue
		}
		if skipped++; skipped > 2 || step.Type != gjson.String {
			return none()
		}
	}
	if fields == nil {
		return none()
	}
	list := m.Members(at)
	if has(list, to) || strings.HasPrefix(to, "_") {
		return none()
	}
	var unknown []wire.Member
	for _, x := range list {
		if !fields.knows(x.Name) && !strings.HasPrefix(x.Name, "_") && !has(unknown, x.Name) {
			unknown = append(unknown, x)
		}
	}
	if len(unknown) != 1 {
		return none()
	}
	if _, once := member(list, unknown[0].Name); !once {
		return none()
	}
	return Rename{Method: m.Method, In: strings.Join(in, "."), From: unknown[0].Name, To: to}, unknown[0], true
}
