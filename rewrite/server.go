package rewrite

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	"acp-shim/internal/textfile"
)

// nameValue is a header or a variable, as an entry lists them.
type nameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// server is an MCP server to inject. Its text is the entry as ACP has it.
type server struct {
	name    string
	kind    string // http, sse, stdio
	url     string
	headers []nameValue
	command string
	args    []string
	env     []nameValue
	from    string // the setting it comes from, for errors

	text string
}

// write makes the entry's text.
func (s *server) write() error {
	var entry any
	if s.kind == "stdio" {
		entry = struct {
			Name    string      `json:"name"`
			Command string      `json:"command"`
			Args    []string    `json:"args"`
			Env     []nameValue `json:"env"`
		}{s.name, s.command, append([]string{}, s.args...), append([]nameValue{}, s.env...)}
	} else {
		entry = struct {
			Type    string      `json:"type"`
			Name    string      `json:"name"`
			URL     string      `json:"url"`
			Headers []nameValue `json:"headers"`
		}{s.kind, s.name, s.url, append([]nameValue{}, s.headers...)}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(entry); err != nil {
		return err
	}
	s.text = strings.TrimSuffix(b.String(), "\n")
	return nil
}

// setHeader adds a header, or replaces one of the same name.
func (s *server) setHeader(name, value string) {
	for i := range s.headers {
		if strings.EqualFold(s.headers[i].Name, name) {
			s.headers[i].Value = value
			return
		}
	}
	s.headers = append(s.headers, nameValue{name, value})
}

// checkURL takes an absolute http url. Its error does not repeat the url, which
// may carry a secret.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("its url is not one that begins with http:// or https:// and names a host")
	}
	return nil
}

// source reads secrets that a setting names rather than holds.
type source struct {
	getenv   func(string) string
	readFile func(string) ([]byte, error)
}

func newSource(getenv func(string) string) source {
	if getenv == nil {
		getenv = os.Getenv
	}
	return source{getenv, textfile.Read}
}

// value is what env:VAR or file:PATH stands for, or text itself. Its error never
// repeats a value.
func (s source) value(text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		v := s.getenv(name)
		if v == "" {
			return "", fmt.Errorf("the variable %s is not set, or empty", name)
		}
		return v, clean(v)
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		if rest, home := strings.CutPrefix(path, "~/"); home {
			path = s.getenv("HOME") + "/" + rest
		}
		b, err := s.readFile(path)
		if err != nil {
			return "", fmt.Errorf("reading the value: %w", err)
		}
		v := strings.TrimRight(string(b), "\r\n")
		if v == "" {
			return "", fmt.Errorf("the file %s is empty", path)
		}
		return v, clean(v)
	}
	return text, clean(text)
}

// clean refuses what would be more than one line in a header.
func clean(v string) error {
	if strings.ContainsAny(v, "\r\n\x00") {
		return fmt.Errorf("the value has a line end in it")
	}
	return nil
}

// headerName tells a name that HTTP allows.
func headerName(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// words splits a command line as a shell does, with quotes and backslashes, and
// expands nothing: no shell is asked.
func words(line string) ([]string, error) {
	var list []string
	var word strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'':
			word.WriteByte(c)
		case c == '\\' && quote != '\'':
			if i++; i == len(line) {
				return nil, fmt.Errorf("it ends in a backslash")
			}
			if quote == '"' && strings.IndexByte("\"\\$`", line[i]) < 0 {
				word.WriteByte('\\')
			}
			word.WriteByte(line[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				list = append(list, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if inWord {
		list = append(list, word.String())
	}
	return list, nil
}
