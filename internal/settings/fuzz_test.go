package settings

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/tidwall/jsonc"
)

// FuzzFile: whatever a config file is, it is read or refused in one line that a
// terminal only shows; comments do not change what it says, and its rules are found
// alone as with everything else.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"", "{}", "\ufeff{\"cancel\":\"native\"}", "{\n// c\n\"mcp\":[\"a=http://a\"],/* d */\"max-agents\":2,}", `{"rules":[{"method":"*"}],"cancel":"auto"}`,
		`{"cancel":"auto","c\u0061ncel":"auto"}`, `{"cancel":{}}`, `{"max-agents":1e9}`, `{"a\u001b[31m":1}`, "{\"\x9b\":1}", "[", `{"rules":`, "{\"cancel\":\"\xff\x1b]0;x\x07\"}", `{"idle-timeout":"9999999h"}`,
		strings.Repeat("[", 20000), `{"rules":` + strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000) + `}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		given := bytes.Clone(text)
		s := defaults()
		err := s.readFile(text)
		if !bytes.Equal(given, text) {
			t.Fatal("the text itself was changed")
		}
		rules, err2 := RulesOf(text)
		if (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(rules, s.Rules) {
			t.Fatalf("%q, %v: rules %q, %v", s.Rules, err, rules, err2)
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("of %q: %q", text, err)
			}
			return
		}
		bare := defaults()
		if err := bare.readFile(jsonc.ToJSON(bytes.TrimPrefix(bytes.Clone(text), []byte("\ufeff")))); err != nil {
			t.Fatalf("%q without its comments: %v", text, err)
		}
		for _, r := range Rows() {
			if a, b := r.textOf(s), r.textOf(bare); a != b {
				t.Fatalf("%s is %q, and %q without comments", r.Name, a, b)
			}
		}
	})
}
