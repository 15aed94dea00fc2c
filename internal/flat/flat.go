// Package flat reads JSON as the list of its values, each with the way to it, in
// order: numbers as they are written, and keys as often as they are given.
//
// It is for tests, which compare by it what a frame says before a change and after
// it. It stands on encoding/json and must not know how frames are read otherwise.
package flat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Leaf is one value, or the bracket that opens or closes one.
type Leaf struct {
	// Way are the decoded keys, and the numbers of elements, that lead there.
	Way []string
	// Key is the text of the last key, "" for an element.
	Key string
	// Text is the value as it is written.
	Text string
}

// Of lists what is in b. It is an error where b is not one value.
func Of(b []byte) ([]Leaf, error) {
	type open struct {
		object bool
		n      int
	}
	var (
		list  []Leaf
		stack []open
		way   []string
		key   string
		at    int64
		isKey bool
	)
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(stack) == 0 && len(list) > 0 {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if len(stack) == 0 && len(list) > 0 {
			return nil, fmt.Errorf("more than one value")
		}
		text := string(bytes.TrimLeft(b[at:d.InputOffset()], " \t\r\n,:"))
		at = d.InputOffset()
		delim, bracket := token.(json.Delim)
		if bracket && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			list = append(list, Leaf{slices.Clone(way), "", text})
			if len(stack) > 0 {
				way = way[:len(way)-1]
			}
			isKey = len(stack) > 0 && stack[len(stack)-1].object
			continue
		}
		if len(stack) > 0 {
			in := &stack[len(stack)-1]
			switch {
			case in.object && isKey:
				way, key, isKey = append(way, token.(string)), text, false
				continue
			case !in.object:
				way, key = append(way, strconv.Itoa(in.n)), ""
				in.n++
			}
		}
		list = append(list, Leaf{slices.Clone(way), key, text})
		if bracket {
			stack = append(stack, open{object: delim == '{'})
			isKey = delim == '{'
			continue
		}
		if len(stack) > 0 {
			way = way[:len(way)-1]
			isKey = stack[len(stack)-1].object
		}
	}
}

// Beside tells how two texts differ beside what the ways lead to and what is below
// it, "" where they do not. A way's "*" is any key or element.
func Beside(before, after []byte, ways ...[]string) string {
	a, err := Of(before)
	if err != nil {
		return "before: " + err.Error()
	}
	b, err := Of(after)
	if err != nil {
		return "after: " + err.Error()
	}
	a, b = without(a, ways), without(b, ways)
	for i := range min(len(a), len(b)) {
		if !slices.Equal(a[i].Way, b[i].Way) || a[i].Key != b[i].Key || a[i].Text != b[i].Text {
			return fmt.Sprintf("%q %s became %q %s", a[i].Way, a[i].Text, b[i].Way, b[i].Text)
		}
	}
	switch {
	case len(a) > len(b):
		return fmt.Sprintf("%q %s is gone", a[len(b)].Way, a[len(b)].Text)
	case len(b) > len(a):
		return fmt.Sprintf("%q %s has come", b[len(a)].Way, b[len(a)].Text)
	}
	return ""
}

func without(list []Leaf, ways [][]string) []Leaf {
	return slices.DeleteFunc(list, func(l Leaf) bool {
		return slices.ContainsFunc(ways, func(way []string) bool { return leads(way, l.Way) })
	})
}

// leads tells that a way leads to another one's beginning.
func leads(way, to []string) bool {
	if len(to) < len(way) {
		return false
	}
	for i, step := range way {
		if step != "*" && step != to[i] {
			return false
		}
	}
	return true
}
