package rewrite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/tidwall/gjson"
	"github.com/tidwall/jsonc"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Rules are the user's own rewrites, in order.
type Rules struct{ list []rule }

const (
	rulesToAgent  = "to-agent"
	rulesToClient = "to-client"
)

// rule is one of them: what it is about, and its operations in their order.
type rule struct {
	method    string // "*" is every method
	direction string
	ops       []op
}

type op struct {
	verb  string // rename, set, default, delete
	path  path
	value string // JSON text; for rename the new name as JSON text
	name  string // for rename, the new name
}

// ParseRules reads the list of rules, in which comments are allowed:
//
//	[{"method": "session/new", "direction": "to-agent",
//	  "rename": {"path": "name"}, "set": {"path": value},
//	  "default": {"path": value}, "delete": ["path"]}]
//
// A path leads from params, or from the result of an answer, by dotted names,
// list indices and "*"; a backslash takes a dot as part of a name. An answer
// goes by the method of its request. Within a rule renames come first, then
// sets, defaults and deletes. No text, or null, is no rules.
func ParseRules(text []byte) (*Rules, error) {
	text = jsonc.ToJSON(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return &Rules{}, nil
	}
	if !wire.Valid(text) {
		return nil, fmt.Errorf("the rules are no valid JSON")
	}
	all := gjson.ParseBytes(text)
	if all.Type == gjson.Null {
		return &Rules{}, nil
	}
	if !all.IsArray() {
		return nil, fmt.Errorf("the rules are a list, not %s", kindOf(all))
	}
	rules := &Rules{}
	for i, x := range all.Array() {
		r, err := parseRule(x)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		rules.list = append(rules.list, r)
	}
	return rules, nil
}

// Len is how many rules there are.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.list)
}

var verbs = []string{"rename", "set", "default", "delete"}

func parseRule(x gjson.Result) (rule, error) {
	var r rule
	if !x.IsObject() {
		return r, fmt.Errorf("a rule is an object, not %s", kindOf(x))
	}
	var err error
	x.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "method":
			r.method = value.Str
		case "direction":
			r.direction = value.Str
		case "rename", "set", "default", "delete":
			err = r.read(key.Str, value)
		default:
			err = fmt.Errorf("there is no %q in a rule%s", key.Str, nearest(key.Str, append([]string{"method", "direction"}, verbs...)))
		}
		return err == nil
	})
	switch {
	case err != nil:
		return r, err
	case r.method == "":
		return r, fmt.Errorf(`it needs a "method", like "session/new" or "*"`)
	case r.direction != rulesToAgent && r.direction != rulesToClient:
		return r, fmt.Errorf(`its "direction" is %q or %q, not %q`, rulesToAgent, rulesToClient, r.direction)
	case len(r.ops) == 0:
		return r, fmt.Errorf("it does nothing: give it a rename, set, default or delete")
	}
	order := map[string]int{}
	for i, v := range verbs {
		order[v] = i
	}
	sort.SliceStable(r.ops, func(i, j int) bool { return order[r.ops[i].verb] < order[r.ops[j].verb] })
	return r, nil
}

// read takes the operations of one verb.
func (r *rule) read(verb string, value gjson.Result) error {
	if verb == "delete" {
		if !value.IsArray() {
			return fmt.Errorf("delete is a list of paths, not %s", kindOf(value))
		}
		for _, x := range value.Array() {
			if x.Type != gjson.String {
				return fmt.Errorf("delete is a list of paths; %s is none", kindOf(x))
			}
			if err := r.put(op{verb: verb}, x.Str); err != nil {
				return err
			}
		}
		return nil
	}
	if !value.IsObject() {
		return fmt.Errorf("%s is an object from paths to values, not %s", verb, kindOf(value))
	}
	var err error
	value.ForEach(func(key, v gjson.Result) bool {
		o := op{verb: verb}
		if verb == "rename" {
			if v.Type != gjson.String || v.Str == "" {
				err = fmt.Errorf("rename %q: the new name is a string", key.Str)
				return false
			}
			o.name, o.value = v.Str, wire.Quote(v.Str)
		} else {
			// A frame is one line, however the file was written.
			var b bytes.Buffer
			if err = json.Compact(&b, []byte(v.Raw)); err != nil {
				err = fmt.Errorf("%s %q: %w", verb, key.Str, err)
				return false
			}
			o.value = b.String()
		}
		err = r.put(o, key.Str)
		return err == nil
	})
	return err
}

func (r *rule) put(o op, text string) error {
	p, err := parsePath(text)
	if err != nil {
		return fmt.Errorf("%s: %w", o.verb, err)
	}
	last := p[len(p)-1]
	switch {
	case p[0].name == "sessionId" || o.name == "sessionId" && len(p) == 1:
		return fmt.Errorf("%s: sessionId cannot be changed, since frames find their way by it", o.verb)
	case o.verb == "rename" && last.any:
		return fmt.Errorf("rename %q: a rename is about one name, not *", text)
	case o.verb == "default" && last.any:
		return fmt.Errorf("default %q: what * leads to is there already", text)
	}
	o.path = p
	r.ops = append(r.ops, o)
	return nil
}

func kindOf(x gjson.Result) string {
	switch {
	case x.IsObject():
		return "an object"
	case x.IsArray():
		return "a list"
	case x.Type == gjson.String:
		return "a string"
	case x.Type == gjson.Number:
		return "a number"
	case x.Type == gjson.Null:
		return "null"
	}
	return x.Raw
}

// apply carries the rules out on a frame.
func (r *Rules) apply(m *proxy.Message, method, direction string) {
	for i := range r.list {
		x := &r.list[i]
		if x.direction != direction || x.method != "*" && x.method != method || method == "" {
			continue
		}
		for _, o := range x.ops {
			if m.Object() {
				o.apply(m)
			}
		}
	}
}

// apply carries one operation out.
func (o op) apply(m *proxy.Message) {
	root := m.Params
	if m.Kind == wire.Response {
		root = m.Result
	}
	if !root.Found() {
		return
	}
	last := o.path[len(o.path)-1]
	var p patch
	parents := o.path[:len(o.path)-1].find(m, root)
	for _, at := range parents {
		switch {
		case opens(m, at, '{'):
			o.object(m, at, last, &p)
		case opens(m, at, '['):
			o.list(m, at, last, &p)
		}
	}
	if len(parents) == 0 && (o.verb == "set" || o.verb == "default") {
		o.grow(m, root, &p)
	}
	p.apply(m)
}

func (o op) object(m *proxy.Message, at proxy.Span, last step, p *patch) {
	list := m.Members(at)
	if last.any {
		switch {
		case o.verb == "delete" && len(list) > 0:
			p.put(at, "{}")
		case o.verb == "set":
			for _, x := range list {
				p.put(x.Value, o.value)
			}
		}
		return
	}
	x, once := member(list, last.name)
	switch {
	case !once && has(list, last.name):
		// Given twice: which one counts is the peer's secret.
	case o.verb == "rename" && once && !has(list, o.name):
		p.rename(x, o.name)
	case o.verb == "set" && once:
		p.put(x.Value, o.value)
	case (o.verb == "set" || o.verb == "default") && !once:
		p.add(at, list, wire.Quote(last.name)+":"+o.value)
	case o.verb == "delete" && once:
		var spans []proxy.Span
		index := 0
		for i, y := range list {
			spans = append(spans, proxy.Span{Off: y.Key.Off, End: y.Value.End})
			if y == x {
				index = i
			}
		}
		cut(spans, index, p)
	}
}

func (o op) list(m *proxy.Message, at proxy.Span, last step, p *patch) {
	list := m.Elements(at)
	i, ok := last.index(len(list))
	switch {
	case o.verb == "delete" && last.any && len(list) > 0:
		p.put(at, "[]")
	case o.verb == "delete" && ok:
		cut(list, i, p)
	case o.verb == "set" && last.any:
		for _, x := range list {
			p.put(x, o.value)
		}
	case o.verb == "set" && ok:
		p.put(list[i], o.value)
	}
}

// cut takes one of several spans out, with the comma beside it.
func cut(list []proxy.Span, i int, p *patch) {
	from, to := list[i].Off, list[i].End
	switch {
	case i > 0:
		from = list[i-1].End
	case len(list) > 1:
		to = list[1].Off
	}
	p.put(proxy.Span{Off: from, End: to}, "")
}

// grow makes the objects on the way to a value that is to be set, as far as the
// way is one of names.
func (o op) grow(m *proxy.Message, root proxy.Span, p *patch) {
	for n := len(o.path) - 2; n >= 0; n-- {
		at := o.path[:n].find(m, root)
		if len(at) == 0 {
			continue
		}
		for _, x := range o.path[n:] {
			if x.any {
				return
			}
		}
		for _, s := range at {
			list := m.Members(s)
			if opens(m, s, '{') && !has(list, o.path[n].name) {
				p.add(s, list, wire.Quote(o.path[n].name)+":"+o.path[n+1:].nested(o.value))
			}
		}
		return
	}
}
