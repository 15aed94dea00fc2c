package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// argumentWords is what is meant by arguments, which kong calls by their fields.
var argumentWords = map[string]string{
	"file": "a capture", "import file": "a file", "path": "a capture, or a directory with some", "a": "a capture", "b": "a second capture",
	"pattern": "a regular expression", "id": "a session's id", "build": "a build",
}

var (
	quotedWord  = regexp.MustCompile(`"([^"]*)"`)
	missingArgs = regexp.MustCompile(`^expected "(<.*)"$`)
	missingWord = regexp.MustCompile(`^expected one of (.*)$`)
	notOneOf    = regexp.MustCompile(`^(\S+) must be one of (\S*) but got (".*")$`)
	didYouMean  = regexp.MustCompile(`^(.*), did you mean (?:one of )?(.*)\?$`)
	noNumber    = regexp.MustCompile(`^(\S+): expected (?:an int|a valid \d+ bit u?int) but got (\S+)`)
	noDuration  = regexp.MustCompile(`^(\S+): expected duration but got ("[^"]*")`)
)

// usageError says in the program's words what kong says of arguments, and whose help
// has more.
func usageError(err error) error {
	command := commandOf(err)
	see := "see " + strings.TrimRight("acp-shim help "+command, " ")
	text := err.Error()
	if m := didYouMean.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s; did you mean %s? (%s)", m[1], listed(m[2], "or"), see)
	}
	if m := missingArgs.FindStringSubmatch(text); m != nil {
		var needs []string
		for _, word := range regexp.MustCompile(`<([^>]*)>`).FindAllStringSubmatch(m[1], -1) {
			what, ok := argumentWords[command+" "+word[1]]
			if !ok {
				what, ok = argumentWords[word[1]]
			}
			if !ok {
				what = "<" + word[1] + ">"
			}
			needs = append(needs, what)
		}
		return fmt.Errorf("%s needs %s; %s", command, strings.Join(needs, " and "), see)
	}
	if m := missingWord.FindStringSubmatch(text); m != nil && command != "" {
		return fmt.Errorf("%s needs one of %s behind it; %s", command, listed(m[1], "and"), see)
	}
	if m := notOneOf.FindStringSubmatch(text); m != nil {
		name := m[1]
		if what := strings.Trim(name, "[]<>"); what != name {
			name = "the " + what
		}
		return fmt.Errorf("%s is one of %s, not %s; %s", name, listed(m[2], "and"), m[3], see)
	}
	if m := noNumber.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s is a whole number, not %s; %s", m[1], m[2], see)
	}
	if m := noDuration.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s is a duration such as 90s or 5m, not %s; %s", m[1], m[2], see)
	}
	return fmt.Errorf("%w; %s", err, see)
}

// listed are the quoted words of a list, as people write one; an empty one is left out.
func listed(text, last string) string {
	var words []string
	for _, m := range quotedWord.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			words = append(words, m[1])
		}
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// commandOf is the command that an error of kong's is about, "" for none.
func commandOf(err error) string {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context == nil {
		return ""
	}
	var names []string
	for _, p := range parse.Context.Path {
		if p.Command != nil && p.Command.Parent.DefaultCmd != p.Command {
			names = append(names, p.Command.Name)
		}
	}
	return strings.Join(names, " ")
}
