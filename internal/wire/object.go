package wire

import (
	"encoding/json"
	"strings"
)

// Member is one member of an object inside a message.
type Member struct {
	Name  string
	Key   Span // the key's text, with its quotes
	Value Span
}

// Members lists the members of the object at s, in their order. It is nil for
// anything that is no object.
func (m *Message) Members(s Span) []Member {
	if !s.Found() || m.Raw[s.Off] != '{' {
		return nil
	}
	var list []Member
	prev := s.Off + 1
	_, ok := members(m.Raw, s.Off, func(key []byte, v Span) {
		k := prev
		for m.Raw[k] != '"' {
			k++
		}
		list = append(list, Member{Name: string(key), Key: Span{k, StringEnd(m.Raw, k)}, Value: v})
		prev = v.End
	})
	if !ok {
		return nil
	}
	return list
}

// Elements lists the values of the array at s.
func (m *Message) Elements(s Span) []Span {
	if !s.Found() || m.Raw[s.Off] != '[' {
		return nil
	}
	var list []Span
	i := Space(m.Raw, s.Off+1)
	for i < s.End && m.Raw[i] != ']' {
		end := valueEnd(m.Raw, i)
		if end <= i {
			return nil
		}
		list = append(list, Span{i, end})
		i = Space(m.Raw, end)
		if i < s.End && m.Raw[i] == ',' {
			i = Space(m.Raw, i+1)
		}
	}
	return list
}

// Member finds one member of the object at s by name. It reports false where
// it is missing, or given twice.
func (m *Message) Member(s Span, name string) (Member, bool) {
	var found Member
	n := 0
	for _, x := range m.Members(s) {
		if x.Name == name {
			found, n = x, n+1
		}
	}
	return found, n == 1
}

// At follows names from the object at s down to a value.
func (m *Message) At(s Span, names ...string) (Span, bool) {
	for _, name := range names {
		x, ok := m.Member(s, name)
		if !ok {
			return Span{}, false
		}
		s = x.Value
	}
	return s, s.Found()
}

// String decodes the string at s, "" for anything else.
func (m *Message) String(s Span) string {
	if !s.Found() || m.Raw[s.Off] != '"' {
		return ""
	}
	return string(unquote(m.Raw[s.Off:s.End]))
}

// Set replaces the value at s by the JSON text value.
func (m *Message) Set(s Span, value string) bool {
	return s.Found() && m.Splice(s.Off, s.End-s.Off, value)
}

// Rename gives the member of the object at s another name. It reports false
// where the member is missing or the new name is taken.
func (m *Message) Rename(s Span, name, to string) bool {
	var found Member
	n := 0
	for _, x := range m.Members(s) {
		switch x.Name {
		case to: // once or more often
			return false
		case name:
			found, n = x, n+1
		}
	}
	return n == 1 && m.Splice(found.Key.Off, found.Key.End-found.Key.Off, Quote(to))
}

// Add puts a member behind the last one of the object at s. It reports false
// where the name is there already.
func (m *Message) Add(s Span, name, value string) bool {
	if !s.Found() || m.Raw[s.Off] != '{' {
		return false
	}
	list := m.Members(s)
	for _, x := range list {
		if x.Name == name {
			return false
		}
	}
	text := Quote(name) + ":" + value
	if len(list) == 0 {
		return m.Splice(s.Off+1, 0, text)
	}
	return m.Splice(list[len(list)-1].Value.End, 0, ","+text)
}

// Delete takes a member and one comma out of the object at s.
func (m *Message) Delete(s Span, name string) bool {
	list := m.Members(s)
	at := -1
	for i, x := range list {
		if x.Name == name {
			if at >= 0 {
				return false
			}
			at = i
		}
	}
	if at < 0 {
		return false
	}
	from, to := list[at].Key.Off, list[at].Value.End
	switch {
	case at > 0:
		from = list[at-1].Value.End
	case len(list) > 1:
		to = list[1].Key.Off
	}
	return m.Splice(from, to-from, "")
}

// Quote gives s as a JSON string, without the escapes for HTML that
// encoding/json makes by default.
func Quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
