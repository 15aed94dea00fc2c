//go:build unix

package login

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the browser.
func TestMain(m *testing.M) {
	if IsBrowser(os.Args[0]) {
		os.Exit(BrowserMain(os.Args))
	}
	os.Exit(m.Run())
}

// caught is a Catch for a process with the environment env beside a plain one, and
// what it catches.
func caught(t *testing.T, env ...string) (c *Catch, run func(name string, args ...string) error, pages chan Page) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pages = make(chan Page, 10)
	c, err = New(filepath.Join(t.TempDir(), "browser"), exe, "run-1234", func(p Page) { pages <- p })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
	run = func(name string, args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Env = append(append([]string{}, env...), c.Env(getenv)...)
		return cmd.Run()
	}
	return c, run, pages
}

func next(t *testing.T, pages chan Page) Page {
	t.Helper()
	select {
	case p := <-pages:
		return p
	case <-time.After(10 * time.Second):
		t.Fatal("no page was caught")
		return Page{}
	}
}

func TestBrowserThatIsThere(t *testing.T) {
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	script := filepath.Join(dir, "firefox")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\" BROWSER=$BROWSER PATH=$PATH OPENED=$ACP_SHIM_OPENED RUN=$ACP_SHIM_RUN >>"+got+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{script, "/no/such/browser:" + script, script + " --new %s"} {
		os.Remove(got)
		c, run, pages := caught(t, "PATH=/usr/bin:/bin", "BROWSER="+set, "ACP_SHIM_RUN=12345678")
		if err := run("/bin/sh", "-c", `"$BROWSER" '`+page+`'`); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		if p := next(t, pages); p.URL != page || p.Port != 4242 {
			t.Errorf("%s: %+v", set, p)
		}
		b, err := os.ReadFile(got)
		if want := page + " BROWSER=" + set + " PATH=/usr/bin:/bin OPENED= RUN=\n"; err != nil || strings.TrimPrefix(string(b), "--new ") != want {
			t.Errorf("%s was given %q, want %q", set, b, want)
		}
		eventually(t, func() bool { _, opened := c.Page(); return opened })
	}
}

func TestBrowserThatIsNotThere(t *testing.T) {
	c, run, pages := caught(t, "PATH=/usr/bin:/bin")
	if err := run("/bin/sh", "-c", `"$BROWSER" '`+page+`'`); err != nil {
		t.Fatal("who asked thinks that it failed:", err)
	}
	next(t, pages)
	if _, opened := c.Page(); opened {
		t.Error("it counts as opened")
	}
	// What is no login is nobody's business, nor kept.
	if err := run("/bin/sh", "-c", `"$BROWSER" 'https://example.com/?token=x'`); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(c.notes); strings.Contains(string(b), "token=x") {
		t.Errorf("it was noted: %s", b)
	}
	c.End()
	if _, err := os.Stat(c.notes); err == nil {
		t.Error("the notes are still there")
	}
}

func TestOpenerOnPath(t *testing.T) {
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >"+got+"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, run, pages := caught(t, "PATH="+dir+":/usr/bin:/bin", "BROWSER=")
	if err := run("/bin/sh", "-c", `xdg-open '`+page+`'`); err != nil {
		t.Fatal(err)
	}
	next(t, pages)
	if b, _ := os.ReadFile(got); string(b) != page+"\n" {
		t.Errorf("the real one was given %q", b)
	}
	if _, opened := c.Page(); opened {
		t.Error("one that failed counts as opened")
	}
}

func TestPrinted(t *testing.T) {
	c, _, pages := caught(t)
	c.Line([]byte("I1130 login.go:7] Please visit " + page + "\n"))
	c.Line([]byte("Please visit " + page + "\n"))
	c.Line([]byte("https://example.com/\n"))
	if p := next(t, pages); p.URL != page {
		t.Error(p)
	}
	if len(pages) != 0 {
		t.Error("the same page was told twice")
	}
}

func TestAPathThatListsCannotHave(t *testing.T) {
	exe, _ := os.Executable()
	c, err := New(filepath.Join(t.TempDir(), "a b"), exe, "run-1234", nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(c.dir, " ") {
		t.Error(c.dir)
	}
	c.Close()
	if _, err := os.Stat(c.dir); err == nil {
		t.Error("the temporary directory is still there")
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not come to that")
		}
	}
}
