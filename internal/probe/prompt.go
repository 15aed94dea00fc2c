package probe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The sentences that a model is asked with. The simulator knows them by their
// first words (fixtures/sim, words_plain.go).
const (
	askHello    = "Reply with exactly: HELLO ACP. Do not use any tools."
	askSecond   = "Reply with exactly: SECOND ANSWER. Do not use any tools."
	askRemember = "Remember the word PAPAYA. Reply with exactly: OK. Do not use any tools, and write no file for this."
	askRecall   = "Which word did I ask you to remember? Reply with that word only. Do not use any tools."
	askNumbers  = "Write the numbers from 1 to 3000, one per line, and nothing else. Do not use any tools."
	askFew      = "Write the numbers from 1 to 60, one per line, and nothing else. Do not use any tools."
	askModel    = "Which model are you? Reply with its id only. Do not use any tools."
	askColours  = "Which colour is the upper half of the image, and which one the lower half? Reply in one short sentence. Do not use any tools."
	askSound    = "What do you hear in the recording? Reply in one short sentence. Do not use any tools."
	askSecret   = "What is the secret word in the attached resource? Reply with that word only. Do not use any tools."
	askMixed    = "Which colour is the upper half of the image, and what is the secret word in the attached resource? Reply in one short sentence. Do not use any tools."
	askCommand  = "/plan Reply with exactly: SLASH. Do not use any tools."

	remembered = "PAPAYA"
	secretWord = "KUMQUAT"
)

func askCreate(name, content string) string {
	return "Create the file " + name + " with the content: " + content + "\nUse your tool for editing files, not a shell. Answer with one short sentence."
}

func askRead(name string) string {
	return "Read the file " + name + "\nUse your tool for reading files, and reply with its content only."
}

func askShell(command string) string {
	return "Run the shell command: " + command + "\nRun it in the foreground, exactly as it stands there, and wait for its end. Answer with one short sentence."
}

func askTool(tool, server, text string) string {
	s := "Call the tool " + tool + " of the MCP server " + server
	if text != "" {
		s += " with the text " + text
	}
	return s + "\nReply with what it answers, and nothing else."
}

func askImage(server string) string {
	return "Call the tool " + toolImage + " of the MCP server " + server + "\nIt returns an image. Reply with the colour of its upper left corner, and nothing else."
}

// holds reports whether an answer has a word in it, in letters of either case. A
// part of another word is none: what could not be rendered is not red.
func holds(answer, word string) bool {
	answer, word = strings.ToLower(answer), strings.ToLower(word)
	for from := 0; ; {
		i := strings.Index(answer[from:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(answer[:from+i])
		after, _ := utf8.DecodeRuneInString(answer[from+i+len(word):])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		from += i + len(word)
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
