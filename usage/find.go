package usage

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Number is one figure that a frame carries, with the path of names to it.
type Number struct {
	Path  string
	Value float64
}

// Find is the figures of tokens that a frame's params or result carries, each with
// the path to it.
func Find(body gjson.Result) []Number { return numbers(body, "", false, 0, nil) }

// numbers collects the figures below v. Inside counts tells that a name on the
// way there says what they are; otherwise the figure's own name must. A string
// is never a figure: "token" is what a login is called, too.
func numbers(v gjson.Result, path string, inside bool, depth int, list []Number) []Number {
	if depth > 8 {
		return list
	}
	v.ForEach(func(key, x gjson.Result) bool {
		name := path
		if key.Type == gjson.String {
			name = path + "." + key.Str
		}
		counts := inside || key.Type == gjson.String && counting(key.Str)
		switch {
		case x.IsObject(), x.IsArray():
			list = numbers(x, name, counts, depth+1, list)
		case counts && figure(x):
			list = append(list, Number{name, x.Num})
		}
		return true
	})
	return list
}

// maxFigure is the largest whole number that a float64 tells from its neighbours.
const maxFigure = 1 << 53

// figure tells a number that can be a count of tokens. What is below zero, or so
// large that it is none of any session, would only spoil the totals.
func figure(x gjson.Result) bool {
	return x.Type == gjson.Number && x.Num >= 0 && x.Num <= maxFigure
}

// counting tells a name of a usage figure, or of an object with such figures.
func counting(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "max") || strings.Contains(name, "limit") || strings.Contains(name, "expire") {
		return false
	}
	return strings.Contains(name, "usage") || strings.Contains(name, "quota") ||
		strings.Contains(name, "tokens") || strings.Contains(name, "token_count") || strings.Contains(name, "tokencount")
}
