//go:build unix

package record

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"acp-shim/proxy"
)

func open(t *testing.T, path string, opt Options) *Writer {
	t.Helper()
	w, err := Create(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// TestTwoWritersInOneDirectory started at the same moment by one process, as two
// shims with the same process id in two containers are.
func TestTwoWritersInOneDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b") + string(filepath.Separator)
	start := time.Date(2026, 11, 30, 11, 20, 0, 123e6, time.UTC)
	var paths []string
	for n := range 3 {
		w := open(t, dir, Options{Start: start, Agent: "agy/../x"})
		w.Frame(note(n))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Base(w.Path()))
		b, err := os.ReadFile(w.Path())
		if err != nil {
			t.Fatal(err)
		}
		if list := entries(t, string(b)); len(list) != 3 || !strings.Contains(string(list[1].Body), `{"n":`) {
			t.Errorf("%s holds %d entries", w.Path(), len(list))
		}
		if m := mode(t, w.Path()); m != 0o600 {
			t.Errorf("mode %o", m)
		}
	}
	if m := mode(t, dir); m != 0o700 {
		t.Errorf("directory's mode %o", m)
	}
	want := regexp.MustCompile(`^20261130T112000\.123Z-\d+-agy_\.\._x\.jsonl 20261130T112000\.123Z-\d+-agy_\.\._x-2\.jsonl 20261130T112000\.123Z-\d+-agy_\.\._x-3\.jsonl$`)
	if got := strings.Join(paths, " "); !want.MatchString(got) {
		t.Errorf("names %s", got)
	}
}

func TestTwoWritersOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	one, two := open(t, path, Options{}), open(t, path, Options{})
	if one.Path() != path || two.Path() == path || filepath.Dir(two.Path()) != filepath.Dir(path) || filepath.Ext(two.Path()) != ".jsonl" {
		t.Errorf("%s and %s", one.Path(), two.Path())
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{
		link:                         "symbolic link",
		filepath.Join(target, "sub"): "making the directory",
		"":                           "no file or directory",
		os.DevNull:                   "is no file",
	} {
		w, err := Create(path, Options{})
		if err == nil {
			w.Close()
			t.Errorf("%q was opened", path)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if b, _ := os.ReadFile(target); string(b) != "precious" {
		t.Error("the link was followed")
	}
	// A file of one's own that others may read is theirs no longer.
	open(t, target, Options{})
	if m := mode(t, target); m != 0o600 {
		t.Errorf("mode %o", m)
	}
	if os.Geteuid() != 0 {
		return // only root can give a file away
	}
	// One that somebody has put there, for all to write to and for himself to read.
	planted := filepath.Join(dir, "planted")
	if os.WriteFile(planted, nil, 0o666) != nil || os.Chown(planted, 12345, -1) != nil {
		t.Fatal("the file could not be made")
	}
	if _, err := Create(planted, Options{}); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user's file: %v", err)
	}
}

func TestHeader(t *testing.T) {
	w := open(t, t.TempDir(), Options{
		Version: "0.1.0", Agent: "agy", Info: []byte(`{"sha256":"ab","token":"s3cr3t"}`),
		Argv: []string{"/opt/agy", "--uid=", "--api-key=s3cr3t", "--token", "s3cr3t", "https://me:s3cr3t@h/"},
	})
	w.Event(&proxy.Event{
		Kind: "spawn", Agent: 1, Session: "s1", Text: "started with --token=s3cr3t",
		Data: []byte(` {"pid":5,"env":{"A":"s3cr3t"}} `),
	})
	w.Event(&proxy.Event{Kind: "stderr", Agent: 1, Text: "\xffpassword=s3cr3t"})
	w.Event(&proxy.Event{Kind: "note", Text: "a\nb", Data: []byte("{broken\n")})
	w.Frame(&proxy.Frame{From: proxy.Shim, To: proxy.Client, Bytes: []byte("{}\n"), Why: "Bearer s3cr3t"})
	w.SetSummary([]byte(`{"x":"https://a:s3cr3t@b/"}`))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "s3cr3t") {
		t.Errorf("a secret is in\n%s", b)
	}
	list := entries(t, string(b))
	h := list[0].Header
	if h == nil || h.Shim != "0.1.0" || h.PID != os.Getpid() || !h.Redacted || h.Agent.Name != "agy" ||
		strings.Join(h.Agent.Argv, " ") != "/opt/agy --uid= --api-key=[redacted] --token [redacted] https://redacted@h/" ||
		string(h.Agent.Info) != `{"sha256":"ab","token":"[redacted]"}` {
		t.Errorf("header %+v", h)
	}
	if e := list[1]; e.Event != "spawn" || e.Agent != 1 || e.Session != "s1" || string(e.Data) != `{"pid":5,"env":{"A":"[redacted]"}}` {
		t.Errorf("spawn %+v", e)
	}
	if e := list[2]; string(e.Text) != "\xffpassword=[redacted]" {
		t.Errorf("stderr %q", e.Text)
	}
	if e := list[3]; string(e.Text) != "a\nb" || string(e.Data) != `"{broken"` {
		t.Errorf("note %q %s", e.Text, e.Data)
	}
}
