package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"acp-shim/internal/probe"
)

// TestProbeMarkdown keeps what an agent says inside its cell.
func TestProbeMarkdown(t *testing.T) {
	const hostile = "a|b\\|c `d` <e> [f](g) *h* _i_ ~~j~~ &lt;\x1b[31m\nk"
	r := &probe.Report{Gates: []probe.Result{{About: probe.About{ID: hostile, Title: hostile}, Verdict: hostile, Figure: hostile,
		Proofs: []probe.Proof{{Seq: 1, From: "client", Text: hostile}}}}}
	for _, through := range []*probe.Report{nil, {Gates: r.Gates}} {
		r.Through = through
		var b bytes.Buffer
		if err := printProbeMD(&b, r); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(b.String()) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			rows++
			// A backslash takes what is behind it out of Markdown's sight.
			bare := regexp.MustCompile(`\\.`).ReplaceAllString(line, "")
			if n := strings.Count(bare, "|"); n != 7 || strings.ContainsAny(bare, "`<*[\x1b") && rows > 2 {
				t.Errorf("%d cells: %s", n-1, line)
			}
		}
		if rows != 3 {
			t.Errorf("%d rows in\n%s", rows, b.String())
		}
		if strings.Contains(b.String(), "capture ``") {
			t.Error("there is no capture")
		}
	}
}
