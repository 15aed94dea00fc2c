package record

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// TestAlike: a stream is recognised, and what is not quite alike is not.
func TestAlike(t *testing.T) {
	a := alike{patience: 1}
	if a.same(chunk) {
		t.Fatal("same as nothing")
	}
	a.learn(chunk)
	for text, want := range map[string]bool{
		`Here it is`:             true,
		``:                       true,
		`Here`:                   true,
		`it is`:                  true,
		`Here it is, Here it is`: true,
		`a\n\"b\" é \\`:          true,
		`ab"`:                    false,
		`ab\`:                    false,
		`ab\u00g0`:               false,
		`ab\x`:                   false,
		"a\nb":                   false,
		"a\xffb":                 false,
		`it is the key`:          false,
		`sk-`:                    false,
		`a token is`:             false,
		`to\u006ben`:             false,
		`x","token":"y`:          false,
		`https://a@b`:            false,
		`?code=x`:                false,
	} {
		b := bytes.Replace(chunk, []byte("Here it is"), []byte(text), 1)
		if got := a.same(b); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, change := range [][2]string{{`"2.0"`, `2.0`}, {`"2.0"`, `"3.0"`}, {`{"type"`, `["type"`}, {"\n", ""}, {"\n", "\r\n"}, {`}}}}`, `}}}`}} {
		b := bytes.Replace(chunk, []byte(change[0]), []byte(change[1]), 1)
		if got, want := a.same(b), change[1] == `"3.0"`; got != want {
			t.Errorf("%s for %s: %v", change[1], change[0], got)
		}
	}
}

// FuzzAlike: whatever is recognised passes the full checks, too.
func FuzzAlike(f *testing.F) {
	f.Add(chunk, bytes.Replace(chunk, []byte("Here"), []byte("There"), 1))
	f.Add([]byte(`{"a":"b"}`), []byte(`{"a":"b\u0041"}`))
	f.Add([]byte(`"toe"`), []byte(`"token"`))
	f.Add([]byte(`["tok","en"]`), []byte(`["token"]`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if !utf8.Valid(first) || !embeds(bytes.TrimSpace(first)) || suspicious(first) {
			return
		}
		a := alike{patience: 1}
		a.learn(first)
		if a.same(second) && (!utf8.Valid(second) || !embeds(bytes.TrimSpace(second)) || suspicious(second)) {
			t.Errorf("%q was taken to be like %q", second, first)
		}
	})
}
