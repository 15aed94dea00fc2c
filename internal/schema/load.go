package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed acp/schema.json
var text []byte

// rule is what the params, or the result, of a method must meet: strict with the
// values that the schema knows, lenient with any.
type rule struct{ strict, lenient *jsonschema.Schema }

// rules are those of the protocol, by side, method and the end of the definition's
// name. They are compiled when the first frame is checked: it takes some time, and
// the binary has other uses.
var rules = sync.OnceValues(load)

type place struct{ side, method, part string }

const (
	partRequest      = "Request"
	partResponse     = "Response"
	partNotification = "Notification"
)

func load() (map[place]rule, error) {
	strict, err := compiler(true)
	if err != nil {
		return nil, err
	}
	lenient, err := compiler(false)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Defs map[string]struct {
			Method string `json:"x-method"`
			Side   string `json:"x-side"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("the embedded schema: %w", err)
	}
	all := map[place]rule{}
	for name, def := range doc.Defs {
		if def.Method == "" {
			continue
		}
		for _, part := range []string{partRequest, partResponse, partNotification} {
			if !strings.HasSuffix(name, part) {
				continue
			}
			var r rule
			if r.strict, err = strict.Compile(url + "#/$defs/" + name); err == nil {
				r.lenient, err = lenient.Compile(url + "#/$defs/" + name)
			}
			if err != nil {
				return nil, fmt.Errorf("the embedded schema: %s: %w", name, err)
			}
			all[place{def.Side, def.Method, part}] = r
		}
	}
	return all, nil
}

const url = "acp.json"

func compiler(strict bool) (*jsonschema.Compiler, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the embedded schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource(url, plain(doc, strict))
}

// plain rewrites unions so that what is wrong with a value is said of the variant
// that it wants to be, and not of all of them: a union whose variants differ by a
// constant becomes a choice by that constant. An unknown one is wrong only if
// strict.
func plain(v any, strict bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i], strict)
		}
	case map[string]any:
		for key, x := range v {
			v[key] = plain(x, strict)
		}
		for _, union := range []string{"oneOf", "anyOf"} {
			variants, ok := v[union].([]any)
			if !ok {
				continue
			}
			if choice := chosen(variants, strict); choice != nil {
				delete(v, union)
				list, _ := v["allOf"].([]any)
				v["allOf"] = append(list, choice...)
			} else if values := constants(variants); values != nil {
				delete(v, union)
				v["type"] = "string"
				if strict {
					v["enum"] = values
				}
			}
		}
	}
	return v
}

// constants are the values of a union of strings that are known, nil if it is no
// such union. A variant that is any string makes it one that nobody can miss.
func constants(variants []any) []any {
	var values []any
	for _, x := range variants {
		x, ok := x.(map[string]any)
		if !ok || x["type"] != "string" {
			return nil
		}
		c, ok := x["const"]
		if !ok {
			return nil
		}
		values = append(values, c)
	}
	return values
}

// chosen is a union as a list of conditions, nil if its variants have no constant
// member in common. A variant without it, as McpServer has one, is for values
// without it.
func chosen(variants []any, strict bool) []any {
	name := ""
	for _, x := range variants {
		if n, _ := constant(x); n != "" {
			name = n
		}
	}
	if name == "" {
		return nil
	}
	var values []any
	bare := false
	// Each is the else of the one before it: no more are tried than it takes.
	var chain map[string]any
	for _, x := range slices.Backward(variants) {
		n, value := constant(x)
		when := map[string]any{"type": "object", "required": []any{name}, "properties": map[string]any{name: map[string]any{"const": value}}}
		if n == name {
			values = append(values, value)
		} else {
			bare = true
			when = map[string]any{"type": "object", "not": map[string]any{"required": []any{name}}}
		}
		link := map[string]any{"if": when, "then": x}
		if chain != nil {
			link["else"] = chain
		}
		chain = link
	}
	slices.Reverse(values)
	must := map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": "string"}}}
	if !bare {
		must["required"] = []any{name}
	}
	if strict {
		must["properties"] = map[string]any{name: map[string]any{"enum": values}}
	}
	return []any{chain, must}
}

// constant is a variant's member that has one value only.
func constant(x any) (name string, value any) {
	v, ok := x.(map[string]any)
	if !ok {
		return "", nil
	}
	properties, _ := v["properties"].(map[string]any)
	for n, p := range properties {
		if p, ok := p.(map[string]any); ok {
			if c, ok := p["const"]; ok {
				return n, c
			}
		}
	}
	return "", nil
}
