package editors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// document is a JSON text, which may have comments and trailing commas, that is
// changed by cutting and putting in, so that every byte that is not meant stays.
type document struct {
	bom bool
	// added is set where the text had no line end of its own, without which a
	// comment in its last line would not be understood.
	added bool
	text  []byte
	root  hujson.Value
	// newline is the text's own line end, unit a step of its indentation.
	newline, unit string
}

const bom = "\xef\xbb\xbf"

// maxNested bounds the brackets of a file, since each may be a step of a
// recursion.
const maxNested = 100_000

// BrokenError is a configuration that is not understood, and so not touched.
type BrokenError struct {
	File         string
	Line, Column int // 0 where there is no place
	Words        string
}

func (e *BrokenError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s; it was not touched: mend it, then try again", e.File, e.Words)
	}
	return fmt.Sprintf("%s:%d:%d: %s; it was not touched: mend it, then try again", e.File, e.Line, e.Column, e.Words)
}

// hujsonPlace is how hujson begins its errors.
var hujsonPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)
})

// parse reads a text. Strict is for clients that read plain JSON only.
func parse(file string, text []byte, strict bool) (*document, error) {
	d := &document{newline: "\n", unit: "  "}
	if rest, ok := bytes.CutPrefix(text, []byte(bom)); ok {
		if strict {
			return nil, &BrokenError{file, 1, 1, "it begins with a byte order mark, which its program does not read"}
		}
		d.bom, text = true, rest
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxNested {
		return nil, &BrokenError{File: file, Words: "it has more brackets than any settings have"}
	}
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		d.added, text = true, append(bytes.Clone(text), '\n')
	}
	if err := d.set(text); err != nil {
		e := &BrokenError{File: file, Words: "it is no valid JSON: " + strings.TrimPrefix(err.Error(), "hujson: ")}
		if m := hujsonPlace().FindStringSubmatch(err.Error()); m != nil {
			fmt.Sscan(m[1], &e.Line)
			fmt.Sscan(m[2], &e.Column)
			e.Words = "it is no valid JSON: " + strings.TrimPrefix(err.Error(), m[0])
			if d.text = text; d.added && e.Line > bytes.Count(text[:len(text)-1], []byte("\n"))+1 {
				e.Line, e.Column = d.place(len(text) - 1)
			}
		}
		return nil, e
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		e := &BrokenError{File: file, Words: "it has to be an object, {...}"}
		e.Line, e.Column = d.place(d.root.StartOffset)
		return nil, e
	}
	if strict && !d.root.IsStandard() {
		e := &BrokenError{File: file, Words: "it has a comment or a comma too many, which its program does not read"}
		var syntax *json.SyntaxError
		if err := json.Unmarshal(d.text, new(any)); errors.As(err, &syntax) {
			e.Line, e.Column = d.place(int(syntax.Offset) - 1)
		}
		return nil, e
	}
	d.unit = d.findUnit()
	return d, nil
}

func (d *document) set(text []byte) error {
	root, err := hujson.Parse(text)
	if err != nil {
		return err
	}
	d.text, d.root = text, root
	return nil
}

// bytes is the document as a file has it.
func (d *document) bytes() []byte {
	text := d.text
	if d.added {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if d.bom {
		return append([]byte(bom), text...)
	}
	return text
}

// place is the line and column of an offset, from 1.
func (d *document) place(at int) (line, column int) {
	at = max(0, min(at, len(d.text)))
	before := d.text[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// findUnit is the indentation of the root's first member.
func (d *document) findUnit() string {
	root := d.root.Value.(*hujson.Object)
	if len(root.Members) > 0 {
		at := root.Members[0].Name.StartOffset
		if in := d.indent(at); in != "" && d.below(at, d.root.StartOffset) {
			return in
		}
	}
	return "  "
}

// indent is the blanks at the beginning of an offset's line.
func (d *document) indent(at int) string {
	start := bytes.LastIndexByte(d.text[:at], '\n') + 1
	line := d.text[start:]
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return string(line[:n])
}

// below tells that an offset is on a later line than another.
func (d *document) below(at, than int) bool {
	return bytes.LastIndexByte(d.text[:at], '\n') > than
}

// find is the value at a path; nil where it is not there, with how many of the
// path's names are. A key that is there twice is an error: nobody knows which counts.
func (d *document) find(path []string) (v *hujson.Value, parent *hujson.Object, index, depth int, err error) {
	v = &d.root
	for i, name := range path {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			line, column := d.place(v.StartOffset)
			return nil, nil, 0, i, &BrokenError{Line: line, Column: column, Words: fmt.Sprintf("%q has to be an object, {...}", strings.Join(path[:i], "."))}
		}
		at := -1
		for j := range obj.Members {
			if obj.Members[j].Name.Value.(hujson.Literal).String() == name {
				if at >= 0 {
					line, column := d.place(obj.Members[j].Name.StartOffset)
					return nil, nil, 0, i, &BrokenError{Line: line, Column: column, Words: fmt.Sprintf("%q is there twice", strings.Join(path[:i+1], "."))}
				}
				at = j
			}
		}
		if at < 0 {
			return nil, obj, -1, i, nil
		}
		v, parent, index = &obj.Members[at].Value, obj, at
	}
	return v, parent, index, len(path), nil
}

// raw is the text of the value at a path, and whether there is one.
func (d *document) raw(path []string) (string, bool) {
	v, _, _, _, err := d.find(path)
	if err != nil || v == nil {
		return "", false
	}
	return string(d.text[v.StartOffset:v.EndOffset]), true
}

// decode reads the value at a path.
func (d *document) decode(path []string, into any) bool {
	text, ok := d.raw(path)
	if !ok {
		return false
	}
	plain, err := hujson.Standardize([]byte(text))
	return err == nil && json.Unmarshal(plain, into) == nil
}
