package editors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// member is a key with its value. The order of an object's members is what
// people see, so that a map does not do.
type member struct {
	name  string
	value any
}

// put sets the value at a path. Objects on the way that are not there are made;
// made is how many.
func (d *document) put(path []string, value any) (made int, err error) {
	v, parent, _, depth, err := d.find(path)
	if err != nil {
		return 0, err
	}
	if v != nil {
		text := d.render(value, d.indent(v.StartOffset))
		return 0, d.splice(v.StartOffset, v.EndOffset, text)
	}
	made = len(path) - 1 - depth
	for i := len(path) - 1; i > depth; i-- {
		value = []member{{path[i], value}}
	}
	owner := &d.root
	if depth > 0 {
		if owner, _, _, _, err = d.find(path[:depth]); err != nil {
			return 0, err
		}
	}
	return made, d.insert(owner, parent, path[depth], value)
}

// insert adds a member at an object's end.
func (d *document) insert(owner *hujson.Value, obj *hujson.Object, name string, value any) error {
	brace := owner.EndOffset - 1 // the closing one
	outer := d.indent(owner.StartOffset)
	inner := outer + d.unit
	if n := len(obj.Members); n > 0 && d.below(obj.Members[n-1].Name.StartOffset, owner.StartOffset) {
		inner = d.indent(obj.Members[n-1].Name.StartOffset)
	}
	// The new member comes behind the last thing that is there, also a comment.
	end := len(bytes.TrimRight(d.text[:brace], " \t\r\n"))
	text := d.newline + inner + d.render(name, "") + ": " + d.render(value, inner)
	gap := d.text[end:brace]
	var b []byte
	if n := len(obj.Members); n > 0 && !d.trailing(obj, brace) {
		last := obj.Members[n-1].Value.EndOffset
		b = append(b, d.text[:last]...)
		b = append(b, ',')
		b = append(b, d.text[last:end]...)
	} else {
		b = append(b, d.text[:end]...)
		if n > 0 {
			text += "," // as the others have it
		}
	}
	b = append(b, text...)
	if bytes.IndexByte(gap, '\n') >= 0 {
		b = append(b, gap...)
	} else {
		b = append(b, d.newline+outer...)
	}
	return d.set(append(b, d.text[brace:]...))
}

// trailing tells that an object's last member has a comma behind it.
func (d *document) trailing(obj *hujson.Object, brace int) bool {
	last := obj.Members[len(obj.Members)-1].Value
	return d.comma(last, brace) >= 0
}

// comma is the offset of the comma behind a value, -1 where there is none.
func (d *document) comma(v hujson.Value, brace int) int {
	at := v.EndOffset + len(v.AfterExtra)
	if at < brace && d.text[at] == ',' {
		return at
	}
	return -1
}

// remove takes the member at a path away. Comments stay.
func (d *document) remove(path []string) error {
	v, obj, index, _, err := d.find(path)
	if err != nil || v == nil {
		return err
	}
	owner := &d.root
	if len(path) > 1 {
		if owner, _, _, _, err = d.find(path[:len(path)-1]); err != nil {
			return err
		}
	}
	brace := owner.EndOffset - 1
	start := obj.Members[index].Name.StartOffset
	end := v.EndOffset
	// Its own line goes with it, from the end of the line before.
	blank := len(bytes.TrimRight(d.text[:start], " \t\r\n"))
	line := bytes.LastIndexByte(d.text[blank:start], '\n')
	if line >= 0 {
		line += blank
		if line > blank && d.text[line-1] == '\r' {
			line--
		}
		start = line
	} else {
		start = blank
	}
	comma := d.comma(*v, brace)
	last := index == len(obj.Members)-1
	before := -1 // the comma that the member before would keep for nothing
	if last && comma < 0 && index > 0 {
		before = d.comma(obj.Members[index-1].Value, brace)
	}
	var b []byte
	from := 0
	if before >= 0 {
		b = append(b, d.text[:before]...)
		from = before + 1
	}
	b = append(b, d.text[from:start]...)
	if comma >= 0 {
		b = append(b, d.text[end:comma]...)
		end = comma + 1
	}
	return d.set(append(b, d.text[end:]...))
}

// splice replaces a part of the text.
func (d *document) splice(start, end int, text string) error {
	b := append([]byte{}, d.text[:start]...)
	b = append(b, text...)
	return d.set(append(b, d.text[end:]...))
}

// rawJSON is a value that is put in as it stood.
type rawJSON string

// render writes a value with the document's own indentation and line ends.
// Lists of words stay on a line.
func (d *document) render(value any, indent string) string {
	switch v := value.(type) {
	case rawJSON:
		return string(v)
	case []member:
		if len(v) == 0 {
			return "{}"
		}
		inner := indent + d.unit
		var b strings.Builder
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(d.newline + inner + d.render(m.name, "") + ": " + d.render(m.value, inner))
		}
		b.WriteString(d.newline + indent + "}")
		return b.String()
	case []string:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = d.render(w, "")
		}
		return "[" + strings.Join(words, ", ") + "]"
	case string:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.Encode(v)
		return strings.TrimSuffix(b.String(), "\n")
	}
	panic(fmt.Sprintf("editors: no way to write a %T", value))
}
