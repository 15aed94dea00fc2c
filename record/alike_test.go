package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
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

// TestForms: what all frames of a form have is redacted in each of them, and so is what
// only one has in its text.
func TestForms(t *testing.T) {
	for _, fixed := range []string{`"x":"y"`, `"note":"ghp_s3cr3tValue99aaaa"`, `"access_token":"s3cr3t-Value99"`, `"url":"https://h/?code=s3cr3t-Value99"`} {
		d := newDisk()
		w := newWriter(d, "x", Options{})
		p, m := &wire.Parser{}, &wire.Message{}
		texts := []string{"one", "two", `sk-s3cr3t-Value99`, "three", `four \u0074oken`, `fi"ve`, "six\n", "seven"}
		forms := map[uint32]bool{}
		for _, text := range texts {
			line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{` + fixed + `,"content":{"text":"` + text + `","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n"
			p.Parse(m, []byte(line))
			forms[m.Form] = true
			w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: m.Raw, Message: m})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := d.text()
		if strings.Contains(got, "s3cr3t") || strings.Count(got, Marker) < 1 {
			t.Errorf("%s: a secret is left, or nothing was replaced:\n%s", fixed, got)
		}
		if len(forms) > 4 {
			t.Errorf("%d forms: the test is of no use", len(forms))
		}
		var frames []Entry
		for _, e := range entries(t, got) {
			if e.IsFrame() {
				frames = append(frames, e)
			}
		}
		if len(frames) != len(texts) {
			t.Fatalf("%d frames:\n%s", len(frames), got)
		}
		for i, text := range texts {
			if e := frames[i]; e.JSON != json.Valid(e.Body) || !strings.Contains(text, "s3cr3t") && !strings.Contains(text, "oken") && !bytes.Contains(e.Sent(), []byte(text)) {
				t.Errorf("%q: %+v", text, e)
			}
		}
	}
}
