package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"acp-shim/internal/settings"
	"acp-shim/internal/status"
	"acp-shim/record"
)

// unpack writes the files of a report into a directory, and their names, in order, to
// a file there: unpack ARCHIVE DIR.
func unpack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unpack ARCHIVE DIR")
	}
	z, err := zip.OpenReader(ts.MkAbs(args[0]))
	ts.Check(err)
	defer z.Close()
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	var names []string
	for _, f := range z.File {
		in, err := f.Open()
		ts.Check(err)
		b, err := io.ReadAll(in)
		ts.Check(err)
		in.Close()
		names = append(names, f.Name)
		ts.Check(os.WriteFile(filepath.Join(dir, path.Base(f.Name)), b, 0o600))
	}
	slices.Sort(names)
	ts.Check(os.WriteFile(filepath.Join(dir, "names"), []byte(strings.Join(names, "\n")+"\n"), 0o600))
}

// longCapture is a capture of n frames, each with its number.
func longCapture(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"format":"acp-shim-capture","version":1,"start":"2026-01-01T00:00:00Z"}` + "\n")
	for i := range n {
		fmt.Fprintf(&b, `{"seq":%d,"t":%d,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":%d,"method":"x"}}`+"\n", i+1, i, i)
	}
	return b.Bytes()
}

func TestCaptureTail(t *testing.T) {
	w, err := record.Create(filepath.Join(t.TempDir(), "c.jsonl"), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	head, err := os.ReadFile(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	head = head[:bytes.IndexByte(head, '\n')+1]
	_, rest, _ := bytes.Cut(longCapture(10_000), []byte("\n"))
	whole := append(bytes.Clone(head), rest...)
	z, _ := zstd.NewWriter(nil)
	packed := z.EncodeAll(whole, nil)
	last := `"id":9999,`
	for _, c := range []struct {
		name  string
		text  []byte
		limit int
		cut   bool
	}{
		{"a.jsonl", whole, 1 << 30, false},
		{"b.jsonl", whole, 100_000, true},
		{"c.jsonl.zst", packed, 1 << 30, false},
		{"d.jsonl.zst", packed, 100_000, true},
		{"e.jsonl.zst", packed[:len(packed)-20], 100_000, true}, // torn
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			open, cut, err := captureTail(path, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			r, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, _ := io.ReadAll(r)
			if c.cut == false {
				if c.name == "a.jsonl" && !bytes.Equal(got, whole) || cut || len(got) != len(whole) {
					t.Errorf("%d bytes of %d, cut %v", len(got), len(whole), cut)
				}
				return
			}
			torn := c.name == "e.jsonl.zst"
			if !torn && (!cut || !bytes.Contains(got, []byte(last))) || !bytes.HasPrefix(got, head) || len(got) > c.limit+len(head) {
				t.Errorf("cut %v, %d bytes, it ends in %q", cut, len(got), got[max(0, len(got)-100):])
			}
			for line := range bytes.Lines(got) {
				if line[0] != '{' || !torn && !bytes.HasSuffix(line, []byte("}\n")) {
					t.Fatalf("half a line: %q", line)
				}
			}
		})
	}
	if _, _, err := captureTail(filepath.Join(t.TempDir(), "none"), 1); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestNewestCapture(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Create(dir+string(filepath.Separator), record.Options{Agent: "agy"})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.WriteFile(filepath.Join(dir, "zz.jsonl"), []byte("no capture\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := newestCapture(dir, nil); got != w.Path() {
		t.Errorf("of a directory: %q, not %q", got, w.Path())
	}
	running := []status.Shim{{}, {Status: &status.Status{Recording: w.Path()}}}
	if got := newestCapture("", running); got != w.Path() {
		t.Errorf("of a running shim: %q", got)
	}
	if got := newestCapture(filepath.Join(dir, "nothing"), nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// A secret of the settings is replaced wherever it stands, also across two writes.
func TestScrub(t *testing.T) {
	s := newScrubber(&settings.Settings{BridgeToken: "token-of-the-bridge", MCPHeaders: []string{"a:b=Bearer header-secret-1"}})
	s.home = "/home/somebody"
	if got := s.text("x token-of-the-bridge y\n/home/somebody/f header-secret-1\n"); got != "x [redacted] y\n~/f [redacted]\n" {
		t.Errorf("%q", got)
	}
	if got := string(s.json([]byte(`{"a":"/home/somebody/x","b":"token-of-the-bridge"}`))); got != `{"a":"~/x","b":"[redacted]"}` {
		t.Error(got)
	}
	odd := newScrubber(&settings.Settings{BridgeToken: `<odd"token>\`})
	for _, text := range []string{`<odd"token>\`, `<odd\"token>\\`, `\u003codd\"token\u003e\\`} {
		if got := string(odd.json([]byte(`{"a":` + text + `}`))); got != `{"a":[redacted]}` {
			t.Errorf("%s: %s", text, got)
		}
	}
	var out strings.Builder
	w := &lineWriter{w: &out, clean: s.secrets}
	for _, piece := range []string{"a token-of-", "the-bridge b\nc", " d"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(); err != nil || out.String() != "a [redacted] b\nc d" {
		t.Errorf("%q %v", out.String(), err)
	}
}

func TestPrintSettings(t *testing.T) {
	set, err := settings.Load([]string{"--bridge=http://127.0.0.1:1/", "--bridge-token=s3cret", "--mcp-header=a:K=s3cret", "--cancel=native"}, false, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printSettings(&out, set); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "s3cret") || !strings.Contains(got, "bridge-token") || !strings.Contains(got, `"native"`) {
		t.Error(got)
	}
}

// What is there is not replaced, and a half is not left behind.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "r.zip")
	if err := writeNew(name, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := writeNew(name, []byte("two")); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	b, _ := os.ReadFile(name)
	if list, _ := os.ReadDir(dir); string(b) != "one" || len(list) != 1 {
		t.Errorf("%q %v", b, list)
	}
	if err := writeNew(filepath.Join(dir, "none", "r.zip"), nil); err == nil || strings.Contains(err.Error(), ".acp-shim-report-") {
		t.Error(err)
	}
}
