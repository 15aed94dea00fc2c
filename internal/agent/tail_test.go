package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n":                        "plain",
		"a\tb\r\n":                       "a b",
		"\x1b[1;31mred\x1b[0m":           "red",
		"\x1b]0;title\x07after":          "after",
		"\x1b]8;;http://x\x1b\\link":     "link",
		"\x1bcreset":                     "reset",
		"\x1b":                           "",
		"\x1b[":                          "",
		"\x1b[12\x01x":                   "x",
		"bell\x07 nul\x00 del\x7f":       "bell nul del",
		"c1 \u009b31m":                   "c1 31m",
		"bad \xff byte":                  "bad ? byte",
		"übermäßig 日本":                   "übermäßig 日本",
		"evil \u202etxt.exe":             "evil txt.exe",
		"I0101 12:00:00 file.cc:1] glog": "I0101 12:00:00 file.cc:1] glog",
	} {
		if got := clean([]byte(in)); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTailKeepsTheLastWholeLines(t *testing.T) {
	var tl tail
	for i := range 1000 {
		tl.add(fmt.Appendf(nil, "line %d\n", i))
	}
	got := tl.String()
	if len(got) > tailBytes || len(got) < tailBytes-20 {
		t.Errorf("%d bytes", len(got))
	}
	first, _, _ := strings.Cut(got, "\n")
	var n int
	if _, err := fmt.Sscanf(first, "line %d", &n); err != nil || fmt.Sprintf("line %d", n) != first {
		t.Errorf("first line %q", first)
	}
	if !strings.HasSuffix(got, "\nline 999") {
		t.Errorf("ends in %q", got[len(got)-20:])
	}
}

func TestTailShortensLongLines(t *testing.T) {
	var tl tail
	tl.add([]byte("before\n"))
	for range 5 {
		tl.add([]byte(strings.Repeat("ä", stderrPiece/2)))
	}
	tl.add([]byte("end\n"))
	tl.add([]byte("after\n"))
	lines := strings.Split(tl.String(), "\n")
	if len(lines) != 3 || lines[0] != "before" || lines[2] != "after" {
		t.Fatalf("%d lines: %.40q", len(lines), lines)
	}
	if l := lines[1]; len(l) > tailLine || !strings.HasSuffix(l, "ä...") || !utf8.ValidString(l) {
		t.Errorf("%d bytes, ends in %q", len(l), l[len(l)-10:])
	}
}

// TestTailKeepsTheReason has a panic whose stacks are longer than the tail.
func TestTailKeepsTheReason(t *testing.T) {
	var tl tail
	tl.add([]byte("I0000 up\n"))
	tl.add([]byte("panic: no such thing\n"))
	if got := tl.String(); got != "I0000 up\npanic: no such thing" {
		t.Errorf("%q", got)
	}
	for i := range 1000 {
		tl.add(fmt.Appendf(nil, "main.f(%d)\n", i))
	}
	if got := tl.String(); !strings.HasPrefix(got, "panic: no such thing\n...\nmain.f(") || !strings.HasSuffix(got, "main.f(999)") {
		t.Errorf("%.60q", got)
	}
}

func TestTailSkipsWholeLines(t *testing.T) {
	tl := tail{skip: func(b []byte) bool { return strings.HasPrefix(string(b), "RAW") }}
	for _, piece := range []string{"RAW 1", "RAW 2", "x\n", "kept\n", "RAW\n", "also ", "RAW kept\n"} {
		tl.add([]byte(piece))
	}
	if got := tl.String(); got != "kept\nalso RAW kept" {
		t.Errorf("%q", got)
	}
}
