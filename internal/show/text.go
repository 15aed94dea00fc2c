package show

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean is text of a peer's as one line that a terminal may have: a line end is
// shown as a sign, and what would move the cursor, change the colour or turn the
// direction of the text is spelled out.
func Clean(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	marks := 0 // combining marks on the last rune
	for len(text) > 0 {
		if c := text[0]; c >= ' ' && c < 0x7f {
			b.WriteByte(c)
			marks, text = 0, text[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		rest := text[n:]
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n':
			b.WriteString("↵")
		case r == '\r' && strings.HasPrefix(rest, "\n"):
		case r == '\t', unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case r == '\u200d':
			// It joins emoji. Terminals disagree on how wide the result is.
		case runeWidth(r) == 0:
			// A pile of marks would grow into the lines above and below.
			if marks++; marks <= maxMarks && unicode.IsPrint(r) {
				b.WriteRune(r)
			}
			text = rest
			continue
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		marks = 0
		text = rest
	}
	return b.String()
}

// maxMarks is how many combining marks one letter keeps: Vietnamese and Hebrew
// need two or three.
const maxMarks = 3

// plain tells text that is shown as it is.
func plain(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Width is how many cells of a terminal the text takes, which must be clean.
func Width(text string) int {
	w := 0
	for _, r := range text {
		w += runeWidth(r)
	}
	return w
}

// Clip shortens clean text to so many cells, and shows that it did.
func Clip(text string, cells int) string {
	if len(text) <= cells || Width(text) <= cells {
		return text
	}
	if cells < 1 {
		return ""
	}
	w := 0
	for i, r := range text {
		if w += runeWidth(r); w > cells-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// Pad is clean text in exactly so many cells.
func Pad(text string, cells int) string {
	text = Clip(text, cells)
	return text + strings.Repeat(" ", max(cells-Width(text), 0))
}

// Begin is the first bytes of a text, cut between two runes. Gists are made of
// beginnings: a prompt may be megabytes.
func Begin(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// head is how many bytes of a peer's text a gist looks at.
const head = 1000
