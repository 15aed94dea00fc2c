package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"acp-shim/internal/settings"
	"acp-shim/record"
)

// logTail is how much of the log is taken, in bytes.
const logTail = 256 << 10

// scrubber takes out of texts what is not for others: what looks like a secret, the
// secrets of the settings, and the name of the home directory.
type scrubber struct {
	known [][]byte
	home  string
}

func newScrubber(set *settings.Settings) scrubber {
	var s scrubber
	for _, x := range newKnownSecrets(set).list() {
		// What is shorter is a word, and would be found everywhere.
		if len(x) < 8 {
			continue
		}
		s.known = append(s.known, bytes.Clone(x))
		// As it stands in JSON, with the escapes for HTML and without.
		for _, html := range []bool{true, false} {
			var quoted bytes.Buffer
			e := json.NewEncoder(&quoted)
			e.SetEscapeHTML(html)
			if e.Encode(string(x)) != nil {
				continue
			}
			inner := quoted.Bytes()[1 : quoted.Len()-2] // a quote on either side, and the line end
			if !bytes.Equal(inner, x) {
				s.known = append(s.known, inner)
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		s.home = home
	}
	return s
}

// secrets replaces those that are known for certain.
func (s scrubber) secrets(b []byte) []byte {
	for _, x := range s.known {
		b = bytes.ReplaceAll(b, x, []byte(record.Marker))
	}
	return b
}

func (s scrubber) homes(b []byte) []byte {
	if s.home == "" {
		return b
	}
	b = bytes.ReplaceAll(b, []byte(s.home), []byte("~"))
	if inJSON := strings.ReplaceAll(s.home, `\`, `\\`); inJSON != s.home {
		b = bytes.ReplaceAll(b, []byte(inJSON), []byte("~"))
	}
	return b
}

// text is a text, line by line.
func (s scrubber) text(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.Write(s.homes(s.secrets(record.RedactText([]byte(line)))))
	}
	return b.String()
}

// json is a JSON document.
func (s scrubber) json(b []byte) []byte { return s.homes(s.secrets(record.Redact(b))) }

// capture writes a capture again. Paths stay as they are: its edits count bytes.
func (s scrubber) capture(w io.Writer, open func() (io.ReadCloser, error)) error {
	out := &lineWriter{w: w, clean: s.secrets}
	_, err := record.RedactCapture(open, out, func(*record.LineError) {})
	if err == nil {
		err = out.end()
	}
	return err
}

// lineWriter hands on whole lines: a secret may be written in two pieces.
type lineWriter struct {
	w     io.Writer
	clean func([]byte) []byte
	rest  []byte
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	n := bytes.LastIndexByte(l.rest, '\n') + 1
	if n == 0 {
		return len(b), nil
	}
	_, err := l.w.Write(l.clean(l.rest[:n]))
	l.rest = append(l.rest[:0], l.rest[n:]...)
	return len(b), err
}

func (l *lineWriter) end() error {
	_, err := l.w.Write(l.clean(l.rest))
	return err
}

// printSettings prints what is set, and by whom.
func printSettings(w io.Writer, set *settings.Settings) error {
	return printPretty(w, struct {
		File     string               `json:"file,omitempty"`
		Agent    []string             `json:"agent,omitempty"`
		Rules    int                  `json:"rulesBytes"`
		Settings []settings.Effective `json:"settings"`
	}{set.Config, set.Words, len(set.Rules), effective(set)})
}

// tailOf is the end of a file, from the beginning of a line on.
func tailOf(path string, limit int64) ([]byte, error) {
	// Before it is opened: that of a FIFO would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(0, info.Size()-limit)
	b, err := io.ReadAll(io.NewSectionReader(f, from, limit))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return b, nil
}

// about is the page in front.
func (b *bundle) about() string {
	var t strings.Builder
	fmt.Fprintf(&t, "a report of acp-shim %s, made %s\n\n", version(), time.Now().UTC().Format(time.RFC3339))
	fmt.Fprintf(&t, "built with %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if strings.HasPrefix(s.Key, "vcs") || s.Key == "CGO_ENABLED" || s.Key == "-race" {
				fmt.Fprintf(&t, "  %s=%s\n", s.Key, s.Value)
			}
		}
	}
	t.WriteString("\nin here:\n")
	for _, f := range b.files {
		fmt.Fprintf(&t, "  %-14s %s\n", f.name, f.what)
	}
	for _, m := range b.missing {
		fmt.Fprintf(&t, "  not in it: %s\n", m)
	}
	t.WriteString("\nWhat looked like a secret was replaced, and the home directory is called ~ (not in the capture). There is no token and no\n" +
		"environment in here. A capture holds a conversation: look through it before you send it to anybody.\n")
	return t.String()
}
