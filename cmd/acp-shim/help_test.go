package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHelpNamesEveryCommand holds the overview to one screen with everything in it.
func TestHelpNamesEveryCommand(t *testing.T) {
	var b bytes.Buffer
	printHelp(&b)
	lines := strings.Split(b.String(), "\n")
	if len(lines) > 40 {
		t.Errorf("it takes %d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) > 80 {
			t.Errorf("too long: %s", l)
		}
	}
	words := strings.FieldsFunc(b.String(), func(r rune) bool { return strings.ContainsRune(" ,|\n[", r) })
	has := map[string]bool{"run": true}
	for _, w := range words {
		has[w] = true
	}
	for _, name := range commandNames(t) {
		if !has[name] {
			t.Errorf("%s is not in it", name)
		}
	}
}

func commandNames(t *testing.T) (names []string) {
	t.Helper()
	parser, err := newParser(&cli{}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestHelpOfEveryCommand has examples, and fits a screen.
func TestHelpOfEveryCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range commandNames(t) {
		switch name {
		case "sim", "run", "version", "help":
			continue // what they have instead is tested elsewhere, or nothing
		}
		cmd := exec.Command(exe, "help", name)
		cmd.Args[0] = "acp-shim"
		cmd.Env = append(os.Environ(), playsMain+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("help %s: %v", name, err)
		}
		if n := strings.Count(string(out), "\n    acp-shim "+name); n == 0 {
			t.Errorf("help %s has no example:\n%s", name, out)
		}
		if n := bytes.Count(out, []byte("\n")); n > 56 {
			t.Errorf("help %s takes %d lines", name, n)
		}
	}
}
