package show

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestClean(t *testing.T) {
	for _, x := range []struct{ in, out string }{
		{"plain", "plain"},
		{"two\nlines\r\nand\ta tab", "two↵lines↵and a tab"},
		{"\x1b[2J\x07", `\x1b[2J\a`},
		{"\u009b31m", `\u009b31m`},             // CSI in one character
		{"a\u202eb\u2066c", `a\u202eb\u2066c`}, // turns the direction
		{"\xff\xfe", `\xff\xfe`},
		{"e\u0301\u0301\u0301\u0301\u0301x", "e\u0301\u0301\u0301x"},
		{"日本語 ok", "日本語 ok"},
		{"👩\u200d👧", "👩👧"},
		{"a\u00a0b\u3000c", "a b c"},
		{"cut \r over", `cut \r over`},
	} {
		if got := Clean(x.in); got != x.out {
			t.Errorf("%q is shown as %q, want %q", x.in, got, x.out)
		}
	}
}

func TestWidth(t *testing.T) {
	for _, x := range []struct {
		text  string
		cells int
	}{{"abc", 3}, {"日本", 4}, {"e\u0301", 1}, {"👩👧", 4}, {"… →✗", 4}, {"ｆｕ", 4}, {"한글", 4}} {
		if got := Width(x.text); got != x.cells {
			t.Errorf("%q takes %d cells, want %d", x.text, got, x.cells)
		}
	}
	for _, x := range [][2]string{{"abcdef", "abc…"}, {"日本語", "日…"}, {"abcd", "abcd"}, {"", ""}} {
		if got := Clip(x[0], 4); got != x[1] {
			t.Errorf("%q is clipped to %q, want %q", x[0], got, x[1])
		}
	}
}

// FuzzClean: whatever a peer says, a column keeps its width and a terminal gets
// nothing to obey.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b[0m", "日本語\u0301", "\xff", "👩\u200d👧\ufe0f", strings.Repeat("\u0301", 20)} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, text string, cells int) {
		clean := Clean(text)
		for _, r := range clean {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q is shown as %q", text, clean)
			}
		}
		if cells = cells & 63; Width(Pad(clean, cells)) != cells {
			t.Errorf("%q in %d cells is %q", text, cells, Pad(clean, cells))
		}
	})
}

func TestMeasures(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 950: "0.9µs", 12 * time.Microsecond: "12µs", 999_600: "1.0ms", 2_940_000: "2.9ms", 142 * time.Millisecond: "142ms",
		999_600 * time.Microsecond: "1.00s", 9_990 * time.Millisecond: "9.99s", 12_300 * time.Millisecond: "12.3s",
		200 * time.Second: "3m20s", 3*time.Hour + 59*time.Second: "3h01m", -time.Second: "-1.00s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns are %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 65_536: "66 kB", 5_000_000: "5.0 MB", 2e15: "2000 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
	if got := Rate(200, time.Second) + " " + Rate(3, 2*time.Second) + Rate(1, 0); got != "200/s 1.5/s" {
		t.Errorf("rates are %q", got)
	}
}
