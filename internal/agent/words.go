package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// splitWords splits a command line as a shell does: blanks part words, single
// and double quotes and, where paths have none, backslashes keep them together.
// An unquoted "~" or "~/" at a word's beginning is the home directory. Nothing
// else that a shell does is done.
func splitWords(line, home string, backslash bool) ([]string, error) {
	var words []string
	var word strings.Builder
	started, tilde := false, false
	flush := func() {
		if started {
			w := word.String()
			if tilde {
				w = expandHome(w, home)
			}
			words = append(words, w)
		}
		word.Reset()
		started, tilde = false, false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			flush()
			continue
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i += 1 + end
		case c == '"':
			closed := false
			for i++; i < len(line); i++ {
				if line[i] == '"' {
					closed = true
					break
				}
				if line[i] == '\\' && backslash && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
			if !closed {
				return nil, errors.New("a double quote is not closed")
			}
		case c == '\\' && backslash:
			if i+1 == len(line) {
				return nil, errors.New("it ends in a backslash")
			}
			i++
			word.WriteByte(line[i])
		default:
			if !started && c == '~' {
				tilde = true
			}
			word.WriteByte(c)
		}
		started = true
	}
	flush()
	return words, nil
}

// expandHome expands "~" and "~/..."; without a home it leaves them.
func expandHome(path, home string) string {
	if home == "" {
		return path
	}
	if path == "~" {
		return home
	}
	if len(path) > 1 && path[0] == '~' && os.IsPathSeparator(path[1]) {
		return filepath.Join(home, path[2:])
	}
	return path
}
