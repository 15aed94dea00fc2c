package editors

import (
	"errors"
	"os"
	"strings"
)

// Words splits a command as a shell does: blanks part words, quotes and, where
// paths have none, backslashes keep them together. What is a file as a whole is
// one word.
func Words(line string, backslash bool) ([]string, error) {
	line = strings.TrimSpace(line)
	if st, err := os.Stat(line); err == nil && !st.IsDir() {
		return []string{line}, nil
	}
	var words []string
	var word strings.Builder
	started := false
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && backslash && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
		started = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if started {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("it is empty")
	}
	return words, nil
}
