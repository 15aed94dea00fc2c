package rewrite

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// path is a way to values inside a frame: names of members, indices of list
// elements, or "*" for all of an object's or a list's.
type path []step

type step struct {
	name string
	any  bool
}

// parsePath reads dotted names; a backslash takes the next character as it is.
func parsePath(text string) (path, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("the path %q is not UTF-8", text)
	}
	p := path{}
	var name strings.Builder
	literal := false
	end := func() error {
		if name.Len() == 0 {
			return fmt.Errorf("the path %q has an empty name in it", text)
		}
		p = append(p, step{name: name.String(), any: name.String() == "*" && !literal})
		name.Reset()
		literal = false
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return nil, fmt.Errorf("the path %q ends in a backslash", text)
			}
			literal = true
			name.WriteByte(text[i])
		case c == '.':
			if err := end(); err != nil {
				return nil, err
			}
		default:
			name.WriteByte(c)
		}
	}
	if err := end(); err != nil {
		return nil, err
	}
	return p, nil
}

func escapePath(name string) string {
	name = strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(name)
	if name == "*" {
		return `\*`
	}
	return name
}

// find follows the path from the value at s to all that it leads to.
func (p path) find(m *proxy.Message, s proxy.Span) []proxy.Span {
	if !s.Found() {
		return nil
	}
	at := []proxy.Span{s}
	for _, x := range p {
		var next []proxy.Span
		for _, s := range at {
			next = append(next, x.below(m, s)...)
		}
		at = next
	}
	return at
}

// below are the values that one step leads to from the value at s.
func (x step) below(m *proxy.Message, s proxy.Span) []proxy.Span {
	switch {
	case opens(m, s, '['):
		list := m.Elements(s)
		if x.any {
			return list
		}
		if i, ok := x.index(len(list)); ok {
			return list[i : i+1]
		}
	case opens(m, s, '{') && x.any:
		var all []proxy.Span
		for _, member := range m.Members(s) {
			all = append(all, member.Value)
		}
		return all
	case opens(m, s, '{'):
		if member, ok := member(m.Members(s), x.name); ok {
			return []proxy.Span{member.Value}
		}
	}
	return nil
}

func (x step) index(n int) (int, bool) {
	i, err := strconv.Atoi(x.name)
	return i, err == nil && i >= 0 && i < n
}

// nested writes value into as many objects as the path still has names.
func (p path) nested(value string) string {
	for i := len(p) - 1; i >= 0; i-- {
		value = "{" + wire.Quote(p[i].name) + ":" + value + "}"
	}
	return value
}
