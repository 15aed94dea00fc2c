package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Finding is one thing that is wrong with a frame.
type Finding struct {
	// Seq is the frame's, Run the run's that it belongs to.
	Seq uint64 `json:"seq"`
	Run int    `json:"run"`
	// Who has written it: client, agent or shim.
	Who    string `json:"who"`
	Method string `json:"method,omitempty"`
	// Part is params, result, error or frame; Path leads from the frame to what is
	// wrong: params.update.status.
	Part string `json:"part"`
	Path string `json:"path"`
	// Says is what the schema wants, in words.
	Says string `json:"says"`
	// Warning tells that it may be an extension.
	Warning bool `json:"warning"`
	// Mended tells that the shim has put it right before it was passed on.
	Mended bool `json:"mended,omitempty"`
	// Count is how often the like of it was found, from the frame Seq on.
	Count int `json:"count"`
}

// kindOf is what makes two findings alike: an index in a list does not count.
func (f Finding) kindOf() Finding {
	f.Seq, f.Count, f.Run = 0, 0, 0
	parts := strings.Split(f.Path, ".")
	for i, p := range parts {
		if _, err := strconv.Atoi(p); err == nil {
			parts[i] = "*"
		}
	}
	f.Path = strings.Join(parts, ".")
	return f
}

// flatten takes the causes of an error apart into what is wrong at single places.
// Of a union that is left, the variant counts that came furthest.
func flatten(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		var best []*jsonschema.ValidationError
		depth := -1
		for _, cause := range err.Causes {
			leaves := flatten(cause)
			deepest := 0
			for _, l := range leaves {
				deepest = max(deepest, len(l.InstanceLocation))
			}
			if isNull(cause) {
				deepest = -1 // "or null" is nobody's wish
			}
			if deepest > depth || best == nil {
				best, depth = leaves, deepest
			}
		}
		if best != nil {
			return best
		}
	}
	if len(err.Causes) == 0 {
		return []*jsonschema.ValidationError{err}
	}
	var list []*jsonschema.ValidationError
	for _, cause := range err.Causes {
		list = append(list, flatten(cause)...)
	}
	return list
}

func isNull(err *jsonschema.ValidationError) bool {
	t, ok := err.ErrorKind.(*kind.Type)
	return ok && len(t.Want) == 1 && t.Want[0] == "null"
}

// says is what a leaf wants.
func says(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		if len(k.Missing) == 1 {
			return k.Missing[0] + " is missing"
		}
		return strings.Join(k.Missing, ", ") + " are missing"
	case *kind.Type:
		return fmt.Sprintf("it is %s, and must be %s", article(k.Got), article(strings.Join(k.Want, " or ")))
	case *kind.Enum:
		return fmt.Sprintf("%s is none of %s", short(k.Got), list(k.Want))
	case *kind.Const:
		return fmt.Sprintf("it is %s, and must be %s", short(k.Got), short(k.Want))
	}
	return err.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

func article(name string) string {
	switch {
	case name == "null":
		return name
	case name != "" && strings.ContainsRune("aeiou", rune(name[0])):
		return "an " + name
	}
	return "a " + name
}

func list(values []any) string {
	var texts []string
	for i, v := range values {
		if i == 12 {
			texts = append(texts, fmt.Sprintf("%d more", len(values)-i))
			break
		}
		texts = append(texts, fmt.Sprint(v))
	}
	return strings.Join(texts, ", ")
}

func short(v any) string {
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	}
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return text
}
