package exchange

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-shim/fixtures"
	"acp-shim/internal/trace"
	"acp-shim/record"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds what was made against a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got), go test -update writes it:\n%s", name, d)
	}
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// export leads a capture through an exporter.
func export(t testing.TB, capture []byte, e Exporter) {
	t.Helper()
	for r, err := range trace.Read(record.Read(bytes.NewReader(capture))) {
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
}

// demos are the captures that are shipped.
func demos(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := fs.Glob(fixtures.Captures, "captures/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	all := map[string][]byte{"run.jsonl": testdata(t, "run.jsonl")}
	for _, p := range paths {
		b, err := fixtures.Captures.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(p)] = b
	}
	return all
}
