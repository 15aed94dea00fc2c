package agent

import (
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	tailBytes = 8 << 10
	tailLine  = 1 << 10
)

// tail keeps the last lines of stderr for an error message.
type tail struct {
	skip func([]byte) bool

	mu       sync.Mutex
	reason   string // the last line that says why the process ends
	lines    []string
	size     int
	open     bool // the last line has no end yet
	skipping bool // the line that is open is left out
	cut      bool // ... or is as long as it may get
}

func (t *tail) add(piece []byte) {
	if len(piece) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	continued := t.open
	t.open = piece[len(piece)-1] != '\n'
	if !continued {
		t.skipping = t.skip != nil && t.skip(piece)
		t.cut = false
	}
	if t.skipping || t.cut {
		return
	}
	// Only the beginning of a long line is kept, and a little more than that is
	// enough to clean it.
	text := clean(piece[:min(len(piece), 2*tailLine)])
	if continued && len(t.lines) > 0 {
		last := len(t.lines) - 1
		t.size -= len(t.lines[last]) + 1
		text = t.lines[last] + text
		t.lines = t.lines[:last]
	}
	text, t.cut = shorten(text)
	if strings.TrimSpace(text) == "" && !t.open {
		return
	}
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		t.reason = text
	}
	t.lines = append(t.lines, text)
	t.size += len(text) + 1
	for t.size > tailBytes {
		t.size -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Join(t.lines, "\n")
	if !strings.Contains(all, t.reason) {
		// The stacks of a program in Go are longer than what is kept, and what
		// they are about stands above them.
		all = t.reason + "\n...\n" + all
	}
	return all
}

// shorten cuts a line to what the tail keeps of it.
func shorten(s string) (string, bool) {
	const dots = "..."
	if len(s) <= tailLine {
		return s, false
	}
	cut := tailLine - len(dots)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + dots, true
}

// clean removes what a terminal would act on: a client shows the text as it is,
// perhaps in a terminal.
func clean(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		if b[i] == 0x1b {
			i += escapeLen(b[i:])
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		i += n
		switch {
		case r == '\t':
			out.WriteByte(' ')
		case r < 0x20, r == 0x7f, r >= 0x80 && r < 0xa0:
		case r == utf8.RuneError && n == 1:
			out.WriteByte('?')
		case r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			// Line separators and changes of writing direction.
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// escapeLen is the length of the terminal escape sequence that b begins with
// (ECMA-48: CSI with its parameters, OSC up to BEL or ST, else two bytes).
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if b[i] < 0x20 {
				return i
			}
		}
		return len(b)
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			if b[i] == '\n' {
				return i
			}
		}
		return len(b)
	}
	return 2
}
