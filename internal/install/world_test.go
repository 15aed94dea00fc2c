package install

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ent is an entry of an archive.
type ent struct {
	name string
	text string
	mode fs.FileMode
}

// good is an archive as it should be.
func good() []ent {
	return []ent{{serverPar, "#!/bin/sh\nexec acp-shim sim \"$@\"\n", 0o755}, {harness, "tools", 0o644}, {"lib/x.txt", "text", 0o600}}
}

func zipOf(t testing.TB, list []ent) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range list {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.text == "" {
			h.Method = zip.Store
		}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(e.text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const stamped = "agy-acp-server-1.2.1-linux-x86_64.zip"

// world is a place for an installation.
type world struct {
	t     *testing.T
	dir   string
	in    *Installer
	waits []time.Duration
	notes []string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir()}
	w.in = New(At(filepath.Join(w.dir, "opt", "agy-acp")))
	t.Cleanup(w.in.client.CloseIdleConnections)
	w.in.sleep = func(ctx context.Context, d time.Duration) error {
		w.waits = append(w.waits, d)
		return ctx.Err()
	}
	w.in.Progress = func(s Stage) {
		if s.Note != "" {
			w.notes = append(w.notes, s.Note)
		}
	}
	return w
}

// file writes an archive, and is its path.
func (w *world) file(name string, b []byte) string {
	w.t.Helper()
	p := filepath.Join(w.dir, name)
	if err := os.WriteFile(p, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) install(r Request) (*Result, error) {
	if r.Platform == "" {
		r.Platform = "linux-x86_64"
	}
	return w.in.Install(context.Background(), r)
}

func (w *world) must(r Request) *Result {
	w.t.Helper()
	res, err := w.install(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// left is all that is in the root, links with where they lead.
func (w *world) left() []string {
	list := []string{}
	root := w.in.Root.dir
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		if target, err := os.Readlink(path); err == nil {
			rel += " -> " + target
		}
		if !d.IsDir() {
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(list)
	return list
}

// nothing checks that an installation has left nothing, not even its root.
func (w *world) nothing() {
	w.t.Helper()
	if _, err := os.Lstat(filepath.Join(w.dir, "opt")); err == nil {
		w.t.Errorf("left behind: %q", w.left())
	}
}

func (w *world) isLeft(want ...string) {
	w.t.Helper()
	if got := w.left(); !slices.Equal(got, want) {
		w.t.Errorf("there is %q, want %q", got, want)
	}
}

// installed are the files of one build that is installed and in use.
var installed = []string{"1.2.1/agy_acp_server.par", "1.2.1/install.json", "1.2.1/lib/x.txt", "1.2.1/localharness_external", "1.2.1/zip.sha256", "current -> 1.2.1"}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func fails(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in the error: %v", w, err)
		}
	}
}
