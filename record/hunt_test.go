package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// spelled are ways in which a peer may repeat a secret within a frame's string.
var spelledBy = map[string]func(rng *rand.Rand, s string) string{
	"plain":       func(_ *rand.Rand, s string) string { return s },
	"json":        func(_ *rand.Rand, s string) string { return wire.Quote(s) },
	"go's json":   func(_ *rand.Rand, s string) string { b, _ := json.Marshal(s); return string(b) },
	"json twice":  func(_ *rand.Rand, s string) string { return wire.Quote(`{"a":` + wire.Quote(s) + `}`) },
	"php's json":  func(_ *rand.Rand, s string) string { return strings.ReplaceAll(wire.Quote(s), "/", `\/`) },
	"query":       func(_ *rand.Rand, s string) string { return "https://h/?x=" + url.QueryEscape(s) },
	"query small": func(_ *rand.Rand, s string) string { return "https://h/?x=" + lowerPercent(url.QueryEscape(s)) },
	"path":        func(_ *rand.Rand, s string) string { return "https://h/" + url.PathEscape(s) + "/y" },
	"base64":      func(_ *rand.Rand, s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 within": func(rng *rand.Rand, s string) string {
		return base64.StdEncoding.EncodeToString([]byte("user:::"[:rng.IntN(8)] + s + "....."[:rng.IntN(6)]))
	},
	"base64 in lines": func(rng *rand.Rand, s string) string {
		const columns = 64
		e := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 48-rng.IntN(min(len(s), 48))) + s + strings.Repeat("y", rng.IntN(90))))
		var lines []string
		for ; len(e) > columns; e = e[columns:] {
			lines = append(lines, e[:columns])
		}
		return strings.Join(append(lines, e), []string{"\n", "\r\n", `\n`, `\r\n`, `\\n`}[rng.IntN(5)])
	},
	"python's json": func(_ *rand.Rand, s string) string { return asciiJSON(s, "%04x") },
	".net's json":   func(_ *rand.Rand, s string) string { return asciiJSON(asciiJSON(s, "%04X"), "%04X") },
	"base64 for URLs": func(rng *rand.Rand, s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte("user:::"[:rng.IntN(8)] + s))
	},
}

// asciiJSON is a JSON string as many encoders write it.
func asciiJSON(s, hex string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(wire.Quote(s))) {
		if u < 0x80 {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u`+hex, u)
		}
	}
	return b.String()
}

// TestHunt finds a secret in every spelling, in frames whose strings are escaped in
// any way, and in texts; what it makes is JSON of the same shape.
func TestHunt(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=\"\\&<>%é😀\n "
	letters := []rune(alphabet)
	for range 300 {
		var list [][]byte
		for range 1 + rng.IntN(40) {
			var s []rune
			for range 8 + rng.IntN(30) {
				s = append(s, letters[rng.IntN(len(letters))])
			}
			list = append(list, []byte(string(s)))
		}
		h := newHunter(list)
		secret := string(list[rng.IntN(len(list))])
		for name, spell := range spelledBy {
			text := "abcdefg"[:rng.IntN(8)] + spell(rng, secret) + " it is"
			in := wrap(rng, text)
			if strings.Contains(name, "json") { // it is deep enough
				in = `{"a":` + escapeAll(rng, wire.Quote(text)) + `}`
			}
			out := string(splice([]byte(in), h.frame([]byte(in))))
			if out == in {
				t.Fatalf("%s: %q is not found in %s", name, secret, in)
			}
			if !wire.Valid([]byte(out)) {
				t.Fatalf("%s: no JSON any more: %s of %s", name, out, in)
			}
			if strings.Contains(decodedStrings(out), secret) {
				t.Fatalf("%s: %q is still in %s", name, secret, out)
			}
			if line := string(splice([]byte(text), h.text([]byte(text)))); strings.Contains(line, spell(rand.New(rand.NewPCG(1, 1)), secret)) && !strings.HasPrefix(name, "base64 ") {
				t.Fatalf("%s: %q is still in %s", name, secret, line)
			}
		}
	}
}

// TestHuntNothing: what only looks like it is left alone, a number above all.
func TestHuntNothing(t *testing.T) {
	h := newHunter([][]byte{[]byte("123456789012"), []byte("abcdefgh-1")})
	for _, in := range []string{`{"n":123456789012}`, `{"n":"12345678901"}`, `{"a":"abcdefgh-"}`, `{"a":"abcdefgh","b":"-1"}`, `[]`, ``, `"`, `{"a":"abc\`} {
		if spans := h.frame([]byte(in)); len(spans) > 0 {
			t.Errorf("%s: %v", in, spans)
		}
	}
	if (*hunter)(nil).may([]byte("x")) || (*hunter)(nil).frame([]byte("x")) != nil || (*hunter)(nil).text([]byte("x")) != nil {
		t.Error("one that knows nothing finds something")
	}
	if newHunter(nil) != nil || newHunter([][]byte{[]byte("short")}) != nil {
		t.Error("there is nothing to hunt for")
	}
}

// TestSecrets: what is known for certain is replaced wherever it shows up, from the
// moment on at which it is known, also in a stream of frames that are alike.
func TestSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known atomic.Pointer[[][]byte]
		known.Store(&[][]byte{[]byte("first-of-them"), []byte("short"), []byte("password")})
		d := newDisk()
		w := newWriter(d, "f", Options{Start: time.Now(), Secrets: func() [][]byte { return *known.Load() }, Argv: []string{"agent", "first-of-them"}})
		frame := func(text string) {
			w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: []byte(`{"method":"session/update","params":{"text":` + wire.Quote(text) + `}}` + "\n")})
		}
		for _, text := range []string{"a", "b", "c first-of-them d", "second-of-them", "the password is short", "e"} {
			frame(text)
		}
		w.Event(&proxy.Event{Kind: "stderr", Text: "denied: first-of-them"})
		w.Event(&proxy.Event{Kind: "note", Data: []byte(`{"a":"Zmlyc3Qtb2YtdGhlbQ=="}`)})
		time.Sleep(time.Second)
		known.Store(&[][]byte{[]byte("first-of-them"), []byte("second-of-them")})
		for _, text := range []string{"f", "second-of-them", "g"} {
			frame(text)
		}
		w.SetSummary([]byte(`{"x":"second-of-them"}`))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text := d.text()
		gone(t, text, "first-of-them")
		if n := strings.Count(text, "second-of-them"); n != 1 {
			t.Errorf("the second one is there %d times, and was known after the first time", n)
		}
		if !strings.Contains(text, "the password is short") {
			t.Error("words were hunted for")
		}
		accounts(t, entries(t, text))
	})
}

// TestSecretsOfRaw stay.
func TestSecretsOfRaw(t *testing.T) {
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true, Secrets: func() [][]byte { return [][]byte{[]byte("first-of-them")} }})
	w.Event(&proxy.Event{Kind: "note", Text: "first-of-them"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.text(), "first-of-them") {
		t.Error("it is gone")
	}
}

func TestSecretsOf(t *testing.T) {
	for in, want := range map[string]string{
		`{"env":{"HOME":"/home/me","TERM":"xterm-256color","NODE_ENV":"production","MODEL":"gemini-3.7-flash-high","K":"a1b2c3d4e5"}}`: "a1b2c3d4e5",
		`{"headers":{"Accept":"text/event-stream, application/json","X":"v4lue-V1x9","Authorization":"Bearer abc-def-123"}}`:           "Bearer abc-def-123 abc-def-123 v4lue-V1x9",
		`{"password":"swordfish"}`:                "",
		`{"password":"sword-fish"}`:               "sword-fish",
		`{"password":"changeme","token":"$HOME"}`: "",
		`{"url":"https://me:p4ss-W0rd@h/"}`:       "me:p4ss-W0rd p4ss-W0rd",
		`{"text":"Basic bWU6cDRzcy1XMHJk"}`:       "bWU6cDRzcy1XMHJk p4ss-W0rd",
	} {
		var got []string
		for _, s := range Secrets([]byte(in)) {
			got = append(got, string(s))
		}
		slices.Sort(got)
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", in, g, want)
		}
	}
}

// TestRedactCaptureIDs: a session's id in a header is no secret, and the rest of
// the capture can still be told by it; a key is one, whatever it is called.
func TestRedactCaptureIDs(t *testing.T) {
	const id, key = "0c7b8f0e-6f0c-4c0e-9d0c-7b8f0e6f0c4c", "ghp_Ab12Cd34Ef56Gh78Ij90"
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true})
	for _, f := range []string{
		`{"id":1,"method":"session/new","params":{"mcpServers":[{"headers":[{"name":"X-Session","value":"` + id + `"}]}]}}`,
		`{"id":1,"result":{"sessionId":"` + id + `"}}`,
		`{"id":"` + key + `","method":"x"}`, `{"text":"` + key + `"}`, `{"text":"it is ` + id + `"}`,
	} {
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte(f + "\n")})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, _ := redactCapture(t, d.text())
	if !strings.Contains(out, `"sessionId":"`+id+`"`) || strings.Count(out, id) != 1 || strings.Contains(out, key) {
		t.Error(out)
	}
}

// TestRedactorParts: what one part of a run calls a secret goes from the others, and
// it is known whether one is missing before them.
func TestRedactorParts(t *testing.T) {
	part := func(n int, frame string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(fmt.Sprintf(`{"format":"acp-shim-capture","version":1,"run":"ab","part":%d,"agent":{}}`+"\n"+
				`{"seq":%d,"t":1,"from":"client","to":"agent#1","frame":%s}`+"\n", n, n, frame))), nil
		}
	}
	first, second := part(1, `{"password":"p4rt-Secret"}`), part(2, `{"text":"it is p4rt-Secret"}`)
	r := NewRedactor()
	for i, open := range []func() (io.ReadCloser, error){second, first} {
		if err := r.Learn(open); err != nil {
			t.Fatal(err)
		}
		if r.Missing() != (i == 0) {
			t.Errorf("after %d: missing is %v", i+1, r.Missing())
		}
		var out bytes.Buffer
		sum, err := r.Redact(second, &out, func(e *LineError) { t.Error(e) })
		if err != nil || sum.Frames != 1 || sum.Hunted != i || strings.Contains(out.String(), "p4rt") != (i == 0) {
			t.Errorf("after %d: %+v, %v, %s", i+1, sum, err, out.String())
		}
	}
}

// TestRedactCaptureSecretIDs: a secret that something is told by as well is gone
// everywhere, and what it told apart is told apart still.
func TestRedactCaptureSecretIDs(t *testing.T) {
	const one, two = "Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1", "Zr7Rk2Vt9Xw4Lm8Pn3Bc6Dj2"
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true})
	for _, f := range []string{
		`{"id":"` + one + `","method":"session/new","params":{"env":[{"name":"DB_PASSWORD","value":"` + one + `"},{"name":"A_TOKEN","value":"` + two + `"}]}}`,
		`{"id":"` + two + `","method":"x","params":{"toolCallId":"` + one + `","sessionId":"` + two + `"}}`,
		`{"id":"` + one + `","result":{"text":"token ` + one + `"}}`, `{"id":"` + two + `","result":{}}`,
	} {
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte(f + "\n")})
	}
	w.Event(&proxy.Event{Kind: "note", Session: two})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, _ := redactCapture(t, d.text())
	gone(t, out, one)
	gone(t, out, two)
	var ids []string
	for _, e := range entries(t, out) {
		if e.IsFrame() {
			eachID(e.Body, func(v []byte) { ids = append(ids, string(v)) })
		} else if e.Session != "" {
			ids = append(ids, e.Session)
		}
	}
	a, b := ids[0], ids[1]
	if a == b || !slices.Equal(ids, []string{a, b, a, b, a, b, b}) {
		t.Errorf("the ids are %q", ids)
	}
	if twice, _ := redactCapture(t, out); twice != out {
		t.Errorf("redacting again makes\n%s\nof\n%s", twice, out)
	}
}

// TestRedactCaptureEdits: what the shim put in or took out is cleaned on both sides.
func TestRedactCaptureEdits(t *testing.T) {
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true})
	m := &wire.Message{}
	m.Parse([]byte(`{"id":1,"method":"x","params":{"text":"it was s3cr3t-V4lue","mcpServers":[]}}` + "\n"))
	m.Splice(bytes.Index(m.Raw, []byte("[]")), 2, `[{"headers":[{"name":"X","value":"s3cr3t-V4lue"}]}]`)
	m.Splice(bytes.Index(m.Raw, []byte("it was")), 6, `s3cr3t-V4lue and`)
	w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: m.Raw, Edits: m.Edits()})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, sum := redactCapture(t, d.text())
	gone(t, out, "s3cr3t-V4lue")
	e := entries(t, out)[1]
	if got, want := string(e.Received()), `{"id":1,"method":"x","params":{"text":"it was [redacted]","mcpServers":[]}}`+"\n"; got != want {
		t.Errorf("received %s", got)
	}
	if got, want := string(e.Sent()), `{"id":1,"method":"x","params":{"text":"[redacted] and [redacted]","mcpServers":[{"headers":[{"name":"X","value":"[redacted]"}]}]}}`+"\n"; got != want {
		t.Errorf("sent %s", got)
	}
	if sum.Frames != 1 || sum.Events != 1 || sum.Hunted != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestRedactCaptureKeeps all that is no secret to the byte: of a capture that was
// redacted when it was written nothing is left to do.
func TestRedactCaptureKeeps(t *testing.T) {
	s := strings.Replace(sample(t), `"redacted":false`, `"redacted":true`, 1)
	if out, _ := redactCapture(t, s); out != s {
		t.Errorf("got\n%s\nof\n%s", out, s)
	}
}

// FuzzRedactCapture: whatever is in a file, no reader panics, and what comes out is
// a capture of as many lines as were said to be in it.
func FuzzRedactCapture(f *testing.F) {
	f.Add([]byte(sample(f)))
	for _, tt := range secretShapes {
		frame, _ := shapeCase(tt).parts()
		f.Add([]byte(`{"seq":1,"t":1,"from":"client","to":null,"frame":` + frame + `,"edits":[{"at":3,"old":"xy","new":"z"}]}` + "\n" +
			`{"seq":2,"t":1,"event":"stderr","text":` + wire.Quote(frame) + `}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		redact := func(b []byte) ([]byte, Redaction) {
			var out bytes.Buffer
			sum, err := RedactCapture(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }, &out, func(*LineError) {})
			if err != nil && !bytes.HasPrefix(b, zstdMagic) {
				t.Fatal(err)
			}
			return out.Bytes(), sum
		}
		once, sum := redact(b)
		n := 0
		for e, err := range Read(bytes.NewReader(once)) {
			if err != nil {
				t.Fatalf("%v in %s", err, once)
			}
			if e.Header == nil {
				n++
			}
		}
		if n != sum.Frames+sum.Events {
			t.Errorf("%d lines, and %+v", n, sum)
		}
	})
}
