package exchange

import (
	"strings"

	"acp-shim/internal/show"
	"acp-shim/record"
)

// code is text of a peer's as code in a line. Nothing in it is markup: it has no
// line end, no control character and no backtick.
func code(text string) string {
	text = strings.ReplaceAll(show.Clean(text), "`", "ˋ")
	text = strings.ReplaceAll(strings.TrimSpace(text), "|", "¦") // a table would end its cell
	if text == "" {
		return "``"
	}
	return "`" + text + "`"
}

// secretless is code without secrets, and of a length that can be read.
func secretless(text string) string {
	return code(show.Begin(string(record.RedactText([]byte(text))), maxWords))
}

// maxWords is how long a peer's text in a line is.
const maxWords = 500

// block is text of a peer's as a block of code, whose fence is longer than any in it.
func block(kind, text string) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	fence := "```"
	for i, l := range lines {
		lines[i] = show.Clean(strings.ReplaceAll(l, "\t", "    "))
		for strings.Contains(lines[i], fence) {
			fence += "`"
		}
	}
	return fence + kind + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

// details folds a block of Markdown away under a summary, which is no text of a
// peer's but what html has escaped.
func details(summary, body string) string {
	return "<details><summary>" + summary + "</summary>\n\n" + body + "\n</details>\n"
}

// html is text of a peer's in a line of HTML.
func html(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(show.Clean(text))
}
