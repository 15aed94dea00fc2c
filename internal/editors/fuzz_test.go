package editors

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tailscale/hujson"
)

// What is put in can be taken out, and everything else means what it did.
func FuzzPut(f *testing.F) {
	for _, s := range []string{"{}", "{ } // x", "{\"a\":1,}", "// c\n{\n\t\"a\": [1, 2,], // b\n\t/* d */\n}\n", "{\"s\": {\"x\": {\"command\": \"c\"}}}", "{\r\n \"s\": {},\r\n}", "{\"s\": {\"b\": 1 /* q */ , \"x\": 2 // r\n}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parse("f", text, false)
		if err != nil {
			return
		}
		if !bytes.Equal(d.bytes(), text) && len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(bom)))) > 0 {
			t.Fatalf("reading alone changes %q to %q", text, d.bytes())
		}
		before, ok := meaning(d)
		if !ok {
			return // a key is there twice somewhere
		}
		at := []string{"s", "x"}
		was, had := d.raw(at)
		made, err := d.put(at, []member{{"command", "shim"}, {"args", []string{"a", "b"}}})
		if err != nil {
			return // s is no object
		}
		comments := countComments(t, d)
		after, _ := meaning(d)
		entry := after["s"].(map[string]any)["x"]
		if !reflect.DeepEqual(entry, map[string]any{"command": "shim", "args": []any{"a", "b"}}) {
			t.Fatalf("%q became %q, with %v", text, d.bytes(), entry)
		}
		if had {
			_, err = d.put(at, rawJSON(was))
		} else {
			err = d.takeAway(at, made)
		}
		if err != nil {
			t.Fatal(err)
		}
		if had && !bytes.Equal(d.bytes(), text) {
			t.Errorf("%q came back as %q", text, d.bytes())
		}
		if got, _ := meaning(d); !reflect.DeepEqual(got, before) {
			t.Errorf("%q came back as %q", text, d.bytes())
		}
		if !had {
			if n := countComments(t, d); n != comments {
				t.Errorf("%d comments of %q became %d in %q", comments, text, n, d.bytes())
			}
		}
	})
}

// meaning is what a document says; ok is false where a key is there twice.
func meaning(d *document) (m map[string]any, ok bool) {
	for v := range d.root.All() {
		if obj, is := v.Value.(*hujson.Object); is {
			seen := map[string]bool{}
			for _, m := range obj.Members {
				name := m.Name.Value.(hujson.Literal).String()
				if seen[name] {
					return nil, false
				}
				seen[name] = true
			}
		}
	}
	plain, err := hujson.Standardize(bytes.Clone(d.text))
	if err != nil || json.Unmarshal(plain, &m) != nil {
		return nil, false
	}
	return m, true
}

// countComments counts comments: none may be lost.
func countComments(t *testing.T, d *document) (n int) {
	extra := func(e hujson.Extra) {
		for b := []byte(e); len(b) > 0; {
			switch {
			case bytes.HasPrefix(b, []byte("//")):
				n++
				_, b, _ = bytes.Cut(b, []byte("\n"))
			case bytes.HasPrefix(b, []byte("/*")):
				n++
				_, b, _ = bytes.Cut(b, []byte("*/"))
			default:
				b = b[1:]
			}
		}
	}
	for v := range d.root.All() {
		extra(v.BeforeExtra)
		extra(v.AfterExtra)
		switch c := v.Value.(type) {
		case *hujson.Object:
			extra(c.AfterExtra)
		case *hujson.Array:
			extra(c.AfterExtra)
		}
	}
	return n
}
