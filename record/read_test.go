package record

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"acp-shim/proxy"
)

// sample is a small capture with everything in it.
func sample(t testing.TB) string {
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true, Start: time.Now(), Agent: "agy", Argv: []string{"agy", "--uid="}})
	w.Event(&proxy.Event{Kind: "spawn", Agent: 1, Data: []byte(`{"pid":7}`)})
	w.Frame(&proxy.Frame{
		From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte(" {\"methodId\":\"é\"}\r\n"),
		Edits: []proxy.Edit{{At: 3, Old: "method", New: "methodId"}, {At: 14, Old: "\xff", New: "é"}},
	})
	w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), Bytes: []byte("noise\n"), Why: "noise"})
	w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: []byte("\xff\n")})
	w.Frame(&proxy.Frame{From: proxy.Shim, To: proxy.AgentPeer(2), Bytes: []byte("{}"), Again: true})
	w.Event(&proxy.Event{Kind: "stderr", Agent: 1, Session: "s", Text: "\xfe"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return d.text()
}

func TestReadSample(t *testing.T) {
	var got []string
	for _, e := range entries(t, sample(t)) {
		switch {
		case e.Header != nil:
			got = append(got, fmt.Sprint("header ", e.Header.Agent.Argv))
		case e.IsFrame():
			got = append(got, fmt.Sprintf("%d %d>%d %v %q %q %q %v", e.Seq, e.From, e.To, e.JSON, e.Received(), e.Sent(), e.Why, e.Again))
		default:
			got = append(got, fmt.Sprintf("%d %s %d %s %q", e.Seq, e.Event, e.Agent, e.Session, e.Text))
		}
	}
	want := []string{
		`header [agy --uid=]`,
		`1 spawn 1  ""`,
		`2 -1>1 true " {\"method\":\"\xff\"}\r\n" " {\"methodId\":\"é\"}\r\n" "" false`,
		`3 1>0 false "noise\n" "noise\n" "noise" false`,
		`4 1>-1 false "\xff\n" "\xff\n" "" false`,
		`5 -2>2 true "{}" "{}" "" true`,
		`6 stderr 1 s "\xfe"`,
		`7 end 0  ""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadCut cuts a capture at every byte. What is before the torn line is read,
// and the torn line is no error.
func TestReadCut(t *testing.T) {
	s := sample(t)
	for n := range len(s) {
		whole := strings.Count(s[:n], "\n")
		got := len(entries(t, s[:n]))
		// A line of which only the end is missing is whole.
		if got != whole && (got != whole+1 || s[n] != '\n') {
			t.Fatalf("cut at %d: %d entries, want %d", n, got, whole)
		}
	}
}

// FuzzRead: damage of any kind ends in errors with the line's number, never in a
// panic, and does not keep the other lines from being read.
func FuzzRead(f *testing.F) {
	s := sample(f)
	f.Add([]byte(s))
	for _, line := range []string{
		`{"seq":1,"t":1,"from":"client","to":null,"frame":{},"edits":[{"at":9223372036854775807,"old":"a","new":"b"}]}`,
		`{"seq":1,"t":1,"from":"client","to":null,"frame":{},"edits":[1,[],{"at":-1}]}`,
		`{"seq":-1}`, `{"seq":1,"t":1}`, `{"seq":"1","t":1,"event":5}`, `{"seq":1,"t":1,"event":"gap","data":[]}`,
		`{"format":"acp-shim-capture","version":1,"agent":[]}`, `{"seq":1,"t":1,"from":"x","to":"y","base64":"?"}`, `{}`, `[]`, `"`, ``,
	} {
		f.Add([]byte(line + "\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		last := 0
		for e, err := range Read(iotest.HalfReader(strings.NewReader(string(b)))) {
			var at *LineError
			if e.Line <= last || err != nil && (!errors.As(err, &at) || at.Line != e.Line) {
				t.Fatalf("line %d after %d, error %v", e.Line, last, err)
			}
			last = e.Line
			if err == nil && e.IsFrame() {
				e.Received()
			}
			e.Gap()
		}
		if n := strings.Count(string(b), "\n") + 1; last > n {
			t.Errorf("line %d of %d", last, n)
		}
	})
}

func TestReadFlipped(t *testing.T) {
	s := sample(t)
	lines := strings.Count(s, "\n")
	rng := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		b := []byte(s)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		n, bad := 0, 0
		for e, err := range Read(strings.NewReader(string(b))) {
			n++
			if err != nil {
				bad++
			} else {
				e.Received()
			}
		}
		if n < lines-3 || bad > 6 {
			t.Fatalf("%d entries and errors of %d lines, %d bad ones, in\n%s", n, lines, bad, b)
		}
	}
}

func TestReadErrors(t *testing.T) {
	const frame = `{"seq":1,"t":1,"from":"client","to":null,"frame":{}}`
	for line, want := range map[string]string{
		`{"seq":1`: "it is no JSON object",
		`[]`:       "it is no JSON object",
		`{"seq":1,"t":1,"from":"client","to":null}`:                                                  "must have one",
		`{"seq":1,"t":1,"from":"client","to":null,"frame":{},"text":""}`:                             "must have one",
		`{"t":1,"event":"x"}`:                                                                        `"seq" or "t" is missing`,
		`{"seq":1,"t":1,"event":""}`:                                                                 `"event" is empty`,
		`{"seq":1,"t":1,"to":null,"frame":{}}`:                                                       `"from" is missing`,
		`{"seq":1,"t":1,"from":null,"to":null,"frame":{}}`:                                           `"from" is missing`,
		`{"seq":1,"t":1,"from":"shim","frame":{}}`:                                                   `"to" is missing`,
		`{"seq":1,"t":1,"from":"agent#0","to":null,"frame":{}}`:                                      `nobody is called "agent#0"`,
		`{"seq":1,"t":1,"from":"shim","to":null,"base64":"*"}`:                                       `its "base64" cannot be read`,
		`{"seq":1,"seq":2,"t":1,"event":"x"}`:                                                        `"seq" is there twice`,
		`{"seq":1,"t":1,"from":"shim","to":null,"frame":{},"edits":[{"at":-1}]}`:                     `its "edits" cannot be read`,
		`{"format":"x","version":1}`:                                                                 `format is "x"`,
		`{"format":"acp-shim-capture","version":2}`:                                                  "version is 2",
		`{"format":"acp-shim-capture","version":1,"start":"today"}`:                                  "header cannot be read",
		`{"seq":1,"t":1,"from":"shim","to":null,"frame":{},"edits":[{"at":0,"old64":"?","new":""}]}`: `its "edits" cannot be read`,
	} {
		var errs []string
		frames := 0
		for e, err := range Read(strings.NewReader(frame + "\n\n" + line + "\n" + frame + "\n")) {
			if err != nil {
				errs = append(errs, err.Error())
			} else if e.IsFrame() {
				frames++
			}
		}
		if frames != 2 || len(errs) != 1 || !strings.HasPrefix(errs[0], "capture line 3: ") || !strings.Contains(errs[0], want) {
			t.Errorf("%s: %d frames, %q, want %q", line, frames, errs, want)
		}
	}
}

// TestReadLater: members that this version does not know are passed over.
func TestReadLater(t *testing.T) {
	list := entries(t, `{"seq":1,"t":5,"from":"client","to":"agent#1","blob":{"x":[1]},"frame":{"a":1}}`+"\n")
	if e := list[0]; string(e.Sent()) != `{"a":1}`+"\n" || e.T != 5 {
		t.Errorf("%+v", e)
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("broken disk")
	var err error
	n := 0
	for _, e := range Read(io.MultiReader(strings.NewReader(sample(t)), iotest.ErrReader(broken))) {
		n, err = n+1, e
	}
	if n != 9 || !errors.Is(err, broken) {
		t.Errorf("%d entries, %v", n, err)
	}
}

// blanks is a stream of so many bytes without a line end.
type blanks int

func (n *blanks) Read(p []byte) (int, error) {
	if *n == 0 {
		return 0, io.EOF
	}
	k := min(len(p), int(*n))
	for i := range p[:k] {
		p[i] = '_'
	}
	*n -= blanks(k)
	return k, nil
}

// TestReadLongLine: a line without an end does not fill the memory.
func TestReadLongLine(t *testing.T) {
	n := blanks(64 << 20)
	var errs []string
	frames := 0
	for _, err := range read(io.MultiReader(&n, strings.NewReader("\n"+sample(t))), 1<<20) {
		if err != nil {
			errs = append(errs, err.Error())
		} else {
			frames++
		}
	}
	if len(errs) != 1 || !strings.Contains(errs[0], "longer than") || frames != 8 {
		t.Errorf("%d entries, %q", frames, errs)
	}
}

// TestProgress goes from nothing to the whole file.
func TestProgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "capture.jsonl")
	text := `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"x","pid":1,"redacted":true,"agent":{}}` + "\n"
	for i := range 5000 {
		text += fmt.Sprintf(`{"seq":%d,"t":%d,"event":"note","text":"%0200d"}`+"\n", i+1, i+1, i)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	half := false
	for e, err := range c.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq == 2500 {
			done, size := c.Progress()
			half = done > size/3 && done < size
		}
	}
	if done, size := c.Progress(); !half || done != size || size != int64(len(text)) {
		t.Errorf("half way %v, at the end %d of %d", half, done, size)
	}
}
