package logs

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// hostile is what a peer may say to write records of its own, or to have a terminal
// obey, whichever way a log is looked at.
const hostile = "x\ntime=2026-01-01T00:00:00Z level=ERROR msg=\"a record of my own\"\r\x1b[2J\x1b]0;title\x07\u009b31m\u0085\u2028\u202e\x00\x7f\xff\" y=1"

// TestHostileText: whatever stands in a record, it is one line, and nothing in it is
// more than text.
func TestHostileText(t *testing.T) {
	for name, opt := range map[string]Options{
		"stderr": {}, "colour": {Color: true}, "text": {File: "log"}, "JSON": {File: "log", JSON: true},
	} {
		var out bytes.Buffer
		if opt.File != "" {
			opt.File = filepath.Join(t.TempDir(), opt.File)
		} else {
			opt.Stderr = &out
		}
		log, end := New(opt)
		log.Error("the agent says", "text", hostile, "error", errors.New(hostile), "any", []string{hostile}, slog.Group("g", hostile, hostile))
		group := hostile
		if opt.Color {
			group = "g" // which are the program's own
		}
		log.With("with", hostile).WithGroup(group).Error(hostile, "b", []byte(hostile))
		end()
		b := out.Bytes()
		if opt.File != "" {
			var err error
			if b, err = os.ReadFile(opt.File); err != nil {
				t.Fatal(err)
			}
		}
		if opt.Color {
			b = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAll(b, nil) // the log's own
		}
		if n := bytes.Count(b, []byte("\n")); n != 2 {
			t.Errorf("%s: two records are %d lines:\n%s", name, n, b)
		}
		for _, r := range strings.ReplaceAll(string(b), "\n", "") {
			if !unicode.IsPrint(r) && r != unicode.ReplacementChar {
				t.Errorf("%s: %U is in a record: %q", name, r, b)
				break
			}
		}
	}
}
