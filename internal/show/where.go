package show

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"
)

// Where makes a test of a gjson query on a frame: a path that must lead to
// something other than false, null and an empty list, as in
//
//	params.update.content.#(type=="diff")
//
// or a path with a comparison, which gjson itself has for members of lists only:
//
//	params.update.status=="failed"
//	result.usage.totalTokens>1000
func Where(query string) (func(frame []byte) bool, error) {
	query = strings.TrimSpace(query)
	if query == "" {
		return nil, errors.New("the query is empty; name a member of the frame, such as params.update.toolCallId")
	}
	if !compares(query) {
		return func(frame []byte) bool { return something(gjson.GetBytes(frame, query)) }, nil
	}
	path := "#(" + query + ")"
	var list []byte
	return func(frame []byte) bool {
		list = append(append(append(list[:0], '['), frame...), ']')
		return gjson.GetBytes(list, path).Exists()
	}, nil
}

// compares tells a query that has an operator outside of brackets and quotes.
func compares(query string) bool {
	depth := 0
	for i := 0; i < len(query); i++ {
		switch c := query[i]; c {
		case '\\':
			i++
		case '"':
			for i++; i < len(query) && query[i] != '"'; i++ {
				if query[i] == '\\' {
					i++
				}
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '=', '<', '>', '%', '!':
			if depth == 0 && i > 0 {
				return true
			}
		}
	}
	return false
}

func something(v gjson.Result) bool {
	switch {
	case !v.Exists(), v.Type == gjson.False, v.Type == gjson.Null:
		return false
	case v.IsArray():
		some := false
		v.ForEach(func(_, _ gjson.Result) bool { some = true; return false })
		return some
	}
	return true
}

// toolFailed tells the update of a tool call that says it failed.
func toolFailed(frame []byte) bool {
	return gjson.GetBytes(frame, "params.update.status").Str == "failed"
}
