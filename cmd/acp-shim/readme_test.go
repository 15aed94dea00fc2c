package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"acp-shim/internal/settings"
	"acp-shim/rewrite"
)

// TestReadmeTables holds the README's tables to what the program knows. With
// UPDATE_README=1 it writes them.
func TestReadmeTables(t *testing.T) {
	const path = "../../README.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, table := range map[string]string{"quirks": rewrite.QuirkTable(), "settings": settingsTable()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		head, rest, ok := strings.Cut(text, begin)
		old, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("README.md has no place for the table of %s", name)
		}
		if want := strings.TrimSpace(table) + "\n"; old != want {
			if os.Getenv("UPDATE_README") == "" {
				t.Errorf("the table of %s in README.md is not what the program does; run UPDATE_README=1 go test ./cmd/acp-shim -run TestReadmeTables", name)
			}
			text = head + begin + want + end + tail
		}
	}
	if os.Getenv("UPDATE_README") != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("| flag and key | variable | values | default | what it does |\n|---|---|---|---|---|\n")
	cell := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(s, "|", "\\|") + "`"
	}
	for _, r := range settings.Rows() {
		help := strings.ReplaceAll(r.Help, "|", "\\|")
		if r.Many() {
			help += "; may be repeated"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s | %s |\n", r.Name, r.Env(), cell(r.Values()), r.Default, help)
	}
	return b.String()
}

// TestReadmesWalkIsTested holds the README's first page to the walk that e2e takes.
func TestReadmesWalkIsTested(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	walk, err := os.ReadFile("../../e2e/testdata/walk.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(readme), "## From nothing to an editor\n")
	page, _, _ = strings.Cut(page, "\n**What a build can do.**")
	n := 0
	for line := range strings.Lines(page) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		n++
		command, _, _ = strings.Cut(command, "#")
		if !strings.Contains(string(walk), "exec "+strings.TrimSpace(command)) {
			t.Errorf("the walk does not take the step %s", command)
		}
	}
	if n < 8 {
		t.Errorf("the first page has %d steps", n)
	}
}
