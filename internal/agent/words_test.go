package agent

import (
	"slices"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
		bad  bool
	}{
		{"", nil, false},
		{"  a  b\tc\n", []string{"a", "b", "c"}, false},
		{`'a b' "c d" e\ f`, []string{"a b", "c d", "e f"}, false},
		{`a'b'"c"d`, []string{"abcd"}, false},
		{`"" ''`, []string{"", ""}, false},
		{`"a\"b\\c\d\$e"`, []string{`a"b\c\d$e`}, false},
		{`'a\b'`, []string{`a\b`}, false},
		{"~/bin/x ~ '~/q' \"~/q\" a~/b ~user/x", []string{"/home/u/bin/x", "/home/u", "~/q", "~/q", "a~/b", "~user/x"}, false},
		{"$HOME `x` *", []string{"$HOME", "`x`", "*"}, false},
		{`'open`, nil, true},
		{`"open`, nil, true},
		{`end\`, nil, true},
	} {
		got, err := splitWords(c.line, "/home/u", true)
		if !slices.Equal(got, c.want) || (err != nil) != c.bad {
			t.Errorf("splitWords(%q) = %q, %v; want %q", c.line, got, err, c.want)
		}
	}
	if got, err := splitWords(`C:\Users\me\agent.exe "D:\a b\c"`, "", false); err != nil ||
		!slices.Equal(got, []string{`C:\Users\me\agent.exe`, `D:\a b\c`}) {
		t.Errorf("with backslashes in paths: %q, %v", got, err)
	}
	if got, _ := splitWords("~/x", "", true); !slices.Equal(got, []string{"~/x"}) {
		t.Errorf("without a home: %q", got)
	}
}
