package wire

import (
	"encoding/binary"
	"math/bits"
)

// Valid reports whether b is one JSON value with white space around it, as
// encoding/json's Valid does, but without a limit on nesting and without
// recursion: a frame a million brackets deep must neither be called broken nor
// eat the stack.
func Valid(b []byte) bool {
	var stack []byte // the open brackets
	i := Space(b, 0)
	for {
		// A value starts at b[i].
		if i >= len(b) {
			return false
		}
		switch c := b[i]; c {
		case '{':
			i = Space(b, i+1)
			if i < len(b) && b[i] == '}' {
				i++
				break
			}
			stack = append(stack, c)
			if i = memberStart(b, i); i < 0 {
				return false
			}
			continue
		case '[':
			i = Space(b, i+1)
			if i < len(b) && b[i] == ']' {
				i++
				break
			}
			stack = append(stack, c)
			continue
		default:
			if i = scalarEnd(b, i); i < 0 {
				return false
			}
		}
		// A value has ended: close what it closes, or go to the next one.
		for {
			i = Space(b, i)
			if len(stack) == 0 {
				return i == len(b)
			}
			if i >= len(b) {
				return false
			}
			object := stack[len(stack)-1] == '{'
			if b[i] == ',' {
				i = Space(b, i+1)
				if object {
					if i = memberStart(b, i); i < 0 {
						return false
					}
				}
				break
			}
			if object && b[i] != '}' || !object && b[i] != ']' {
				return false
			}
			stack = stack[:len(stack)-1]
			i++
		}
	}
}

// memberStart passes a key and its colon and returns where the value starts.
func memberStart(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = scalarEnd(b, i); i < 0 {
		return -1
	}
	i = Space(b, i)
	if i >= len(b) || b[i] != ':' {
		return -1
	}
	return Space(b, i+1)
}

// scalarEnd returns the offset after the string, number or literal at b[i], or
// -1 where it is malformed.
func scalarEnd(b []byte, i int) int {
	switch c := b[i]; {
	case c == '"':
		return strictString(b, i+1)
	case c == 't':
		return literal(b, i, "true")
	case c == 'f':
		return literal(b, i, "false")
	case c == 'n':
		return literal(b, i, "null")
	case c == '-' || c >= '0' && c <= '9':
		return number(b, i)
	}
	return -1
}

func literal(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && b[i] >= '1' && b[i] <= '9':
		i = digits(b, i)
	default:
		return -1
	}
	if i < len(b) && b[i] == '.' {
		j := digits(b, i+1)
		if j == i+1 {
			return -1
		}
		i = j
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := digits(b, i)
		if j == i {
			return -1
		}
		i = j
	}
	return i
}

// Plain returns the offset of the first byte from b[i] on that does not stand for
// itself in a JSON string: a control character, a quote or a backslash; len(b) if there
// is none. Eight bytes are looked at at a time.
func Plain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		// The lowest bit that is set belongs to the first such byte; those above it may
		// be wrong.
		found := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

func strictString(b []byte, i int) int {
	for {
		if i = Plain(b, i); i >= len(b) {
			return -1
		}
		c := b[i]
		if c == '"' {
			return i + 1
		}
		if c != '\\' || i+1 >= len(b) {
			return -1
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if len(b)-i < 6 {
				return -1
			}
			for _, h := range b[i+2 : i+6] {
				if !(h >= '0' && h <= '9' || h >= 'a' && h <= 'f' || h >= 'A' && h <= 'F') {
					return -1
				}
			}
			i += 6
		default:
			return -1
		}
	}
}
