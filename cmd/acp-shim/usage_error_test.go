package main

import (
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"show":               `show needs a capture; see acp-shim help show`,
		"import":             `import needs a file; see acp-shim help import`,
		"diff":               `diff needs a capture and a second capture; see acp-shim help diff`,
		"sessions repair":    `sessions repair needs a session's id; see acp-shim help sessions repair`,
		"agent":              `agent needs one of install, list, use, remove and verify behind it; see acp-shim help agent`,
		"agent use":          `agent use needs a build; see acp-shim help agent use`,
		"completion tcsh":    `the shell is one of bash, zsh and fish, not "tcsh"; see acp-shim help completion`,
		"statuss":            `unexpected argument statuss; did you mean status or stats? (see acp-shim help)`,
		"usage --by x":       `--by is one of all, day, model and session, not "x"; see acp-shim help usage`,
		"probe --jobs a":     `--jobs is a whole number, not "a"; see acp-shim help probe`,
		"login --timeout x":  `--timeout is a duration such as 90s or 5m, not "x"; see acp-shim help login`,
		"sessions --older x": `--older: "x" is no duration like 36h or 30d; see acp-shim help sessions`,
	} {
		parser, err := newParser(&cli{}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = parser.Parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		} else if got := usageError(err).Error(); got != want {
			t.Errorf("%s:\n%s, want\n%s", args, got, want)
		}
	}
}
