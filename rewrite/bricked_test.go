package rewrite

import (
	"strings"
	"testing"
)

func TestAdviceCanBePasted(t *testing.T) {
	for id, want := range map[string]string{
		"7c210042-29de-406f-a1a2-dd2efc4f9280": "7c210042-29de-406f-a1a2-dd2efc4f9280",
		"a b":                                  "'a b'",
		"x;rm -rf ~":                           "'x;rm -rf ~'",
		"it's":                                 `'it'\''s'`,
		"-f":                                   "'-f'",
		"":                                     "''",
		"a\x03\nrm 'b' \"c\" \u202e\xff":       `$'a\x03\nrm \'b\' "c" \u202e\xff'`,
	} {
		if got := word(id); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	r := newRewriter(t)
	if r.advise("all is well", "s") != "" {
		t.Error("there is advice where nothing is wrong")
	}
	if got := r.advise("could not find doneCh; "+r.advise("could not find doneCh", "s"), "s"); got != "" {
		t.Errorf("it is said twice: %s", got)
	}
	r.home = "/my home"
	if got := r.advise("x could not find doneCh y", "s"); !strings.HasSuffix(got, ": acp-shim sessions repair --home '/my home' s") {
		t.Errorf("got %s", got)
	}
}
