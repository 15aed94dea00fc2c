package settings

import (
	"encoding/json"
	"strings"
)

// Schema is the JSON schema of the config file, for editors: every row that may
// stand there, and the user's rules. What it takes, Load takes; Load takes other
// forms of a value as well, and checks bounds of durations.
func Schema() []byte {
	props := object{}
	props.add("$schema", object{{"type", "string"}, {"description", "where this schema is, for editors; acp-shim takes no notice"}})
	for _, r := range Rows() {
		if r.Name != "config" {
			props.add(r.Name, r.schema())
		}
	}
	props.add("rules", rulesSchema())
	b, err := json.MarshalIndent(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "acp-shim's config file"},
		{"description", "Comments and trailing commas are allowed in it. Flags and ACP_SHIM_ variables have precedence over it."},
		{"type", "object"},
		{"properties", props},
		{"additionalProperties", false},
	}, "", "  ")
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return append(b, '\n')
}

// object is a JSON object with an order.
type object []member

type member struct {
	name  string
	value any
}

func (o *object) add(name string, value any) { *o = append(*o, member{name, value}) }

// MarshalJSON keeps the order.
func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, m := range o {
		v, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name)
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	return []byte("{" + b.String() + "}"), nil
}

// durations are written as time.ParseDuration takes them.
const durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`

func (r Row) schema() object {
	o := object{}
	switch r.kind {
	case choice:
		o.add("enum", r.values)
	case flag:
		o.add("enum", []any{true, false, "on", "off"})
		if r.Default != "" {
			o.add("default", r.Default == "on")
		}
	case number:
		o.add("type", "integer")
		o.add("minimum", r.min)
		o.add("maximum", r.max)
		if r.Default != "" {
			o.add("default", json.RawMessage(r.Default))
		}
	case duration:
		o.add("type", "string")
		o.add("pattern", durationPattern)
	case list:
		o.add("oneOf", []object{
			{{"type", "string"}, {"minLength", 1}},
			{{"type", "array"}, {"items", object{{"type", "string"}, {"minLength", 1}}}},
		})
	default:
		o.add("type", "string")
	}
	if r.Default != "" && (r.kind == choice || r.kind == duration) {
		o.add("default", r.Default)
	}
	help := r.Help
	if r.kind != choice && r.kind != flag && r.Value != "" {
		help += ": " + r.Value
	}
	o.add("description", help)
	return o
}

// rulesSchema is that of package rewrite's rules, see its ParseRules; a test holds
// the two together.
func rulesSchema() object {
	paths := func(value object, what string) object {
		return object{{"type", "object"}, {"minProperties", 1}, {"additionalProperties", value}, {"description", what}}
	}
	return object{
		{"type", "array"},
		{"description", "your own rewrites, in order, after the quirks; a path leads from params or an answer's result, by names with dots between them, a list's index, or *"},
		{"items", object{
			{"type", "object"},
			{"properties", object{
				{"method", object{{"type", "string"}, {"minLength", 1}, {"description", "a method's name, or *; an answer goes by the method of its request"}}},
				{"direction", object{{"enum", []string{"to-agent", "to-client"}}}},
				{"rename", paths(object{{"type", "string"}}, "path of a member: its new name")},
				{"set", paths(object{}, "path: value, whatever stands there")},
				{"default", paths(object{}, "path: value, where nothing stands")},
				{"delete", object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", "string"}}}, {"description", "paths of members that go"}}},
			}},
			{"required", []string{"method", "direction"}},
			{"anyOf", []object{{{"required", []string{"rename"}}}, {{"required", []string{"set"}}}, {{"required", []string{"default"}}}, {{"required", []string{"delete"}}}}},
			{"additionalProperties", false},
		}},
	}
}
