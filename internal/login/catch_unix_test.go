//go:build unix

package login

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the browser.
func TestMain(m *testing.M) {
	if IsBrowser(os.Args[0]) {
		os.Exit(BrowserMain(os.Args))
	}
	goleak.VerifyTestMain(m)
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

// TestABrowserThatWaitsForTheNotes: what is noted in the moment in which the watching
// begins is not missed.
func TestABrowserThatWaitsForTheNotes(t *testing.T) {
	c, _, pages := caught(t)
	for i := range 100 {
		if err := c.End(); err != nil {
			t.Fatal(err)
		}
		noted := make(chan error, 1)
		go func() {
			for {
				f, err := os.OpenFile(c.notes, os.O_WRONLY|os.O_APPEND, 0)
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				if err == nil {
					_, err = fmt.Fprintf(f, "%s %s%d\n", noteGiven, page, i)
					f.Close()
				}
				noted <- err
				return
			}
		}()
		if err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := <-noted; err != nil {
			t.Fatal(err)
		}
		if p := next(t, pages); p.URL != fmt.Sprint(page, i) {
			t.Fatalf("caught %s", p.URL)
		}
	}
}

// TestAWatchThatIsOver: what its goroutine still has in hand when the next one is
// watching is not told, and does not take the next one's place.
func TestAWatchThatIsOver(t *testing.T) {
	c, _, pages := caught(t)
	var over int
	for _, url := range []string{page + "1", page + "2"} {
		if err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.notes, []byte(noteGiven+" "+url+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if p := next(t, pages); p.URL != url {
			t.Fatalf("caught %s, want %s", p.URL, url)
		}
		if strings.HasSuffix(url, "1") {
			over = c.watch
			if err := c.End(); err != nil {
				t.Fatal(err)
			}
		}
	}
	late, _ := Find([]byte(page + "1"))
	c.caught(late, over, true)
	if p, opened := c.Page(); p.URL != page+"2" || opened {
		t.Errorf("the page is %s, opened %v", p.URL, opened)
	}
	select {
	case p := <-pages:
		t.Errorf("told %s", p.URL)
	default:
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
	if err := run("/bin/sh", "-c", `"$BROWSER" 'https://example.com/?token=x'`); err == nil {
		t.Error("it is said to be open")
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

// TestWhatIsNoLogin has the real browser in the place of ours, with its arguments,
// its output and its exit code, whatever the agent's tools have made of the
// environment.
func TestWhatIsNoLogin(t *testing.T) {
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$# $* $ACP_SHIM_RUN\"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + dir + ":/usr/bin:/bin"
	for _, row := range []struct {
		name, line, want string
		code             int
		env              []string
	}{
		{"a file", `xdg-open /tmp/a.pdf`, "1 /tmp/a.pdf 1234", 3, nil},
		{"arguments", `xdg-open 'a b' ''`, "2 a b  1234", 3, nil},
		{"none", `xdg-open`, "0  1234", 3, nil},
		{"any page", `"$BROWSER" https://example.com/`, "1 https://example.com/ 1234", 3, []string{"DISPLAY=:0"}},
		{"the opener as BROWSER", `"$BROWSER" a`, "1 a 1234", 3, []string{"BROWSER=xdg-open"}},
		{"its own failure", `"$BROWSER" a`, "", 1, []string{"BROWSER=false"}},
		{"no variables", `env -u ACP_SHIM_OPENED -u ACP_SHIM_BROWSER_WAS xdg-open a`, "1 a 1234", 3, nil},
		{"a PATH with something in front", `PATH=/nowhere:$PATH; xdg-open a`, "1 a 1234", 3, nil},
		{"no browser", `"$BROWSER" a`, "", notFound, []string{"BROWSER=/no/such"}},
		{"no opener", `PATH=${PATH%%:*}; xdg-open a`, "", notFound, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, run, _ := caught(t, append([]string{path, "ACP_SHIM_RUN=1234"}, row.env...)...)
			err := run("/bin/sh", "-c", "exec >"+got+"\n"+row.line)
			code := 0
			if e := (*exec.ExitError)(nil); errors.As(err, &e) {
				code = e.ExitCode()
			}
			if b, _ := os.ReadFile(got); strings.TrimSpace(string(b)) != row.want || code != row.code {
				t.Errorf("%q and %d, want %q and %d", b, code, row.want, row.code)
			}
		})
	}
}

// TestShimWithinAShim has the inner one not take the outer one's browser for the
// user's.
func TestShimWithinAShim(t *testing.T) {
	c, _, _ := caught(t)
	outer := c.Env(func(name string) string {
		return map[string]string{"PATH": "/usr/bin", "BROWSER": "firefox"}[name]
	})
	inner := c.Env(func(name string) string {
		for _, kv := range outer {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	})
	if !slices.Contains(inner, envSet+"=firefox") {
		t.Error(inner)
	}
}

// TestNoPath leaves the system's own places to an agent without a PATH.
func TestNoPath(t *testing.T) {
	c, _, _ := caught(t)
	for _, kv := range c.Env(func(string) string { return "" }) {
		if strings.HasPrefix(kv, "PATH=") {
			t.Error(kv)
		}
	}
}

// TestNotesOfNobody has a page that is opened while no login is open kept nowhere.
func TestNotesOfNobody(t *testing.T) {
	c, run, _ := caught(t, "PATH=/usr/bin:/bin")
	c.End()
	if err := run("/bin/sh", "-c", `"$BROWSER" '`+page+`'`); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.notes); err == nil {
		t.Error("there are notes of it")
	}
	// Those of a shim that was killed are gone after a day.
	old := filepath.Join(filepath.Dir(c.notes), "killed")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, time.Time{}, time.Now().Add(-48*time.Hour))); err != nil {
		t.Fatal(err)
	}
	exe, _ := os.Executable()
	if _, err := New(c.dir, exe, "run-5678", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("old notes are still there")
	}
}

func TestATempDirThatListsCannotHave(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "a:b")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	exe, _ := os.Executable()
	if _, err := New("", exe, "run-1234", nil); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Error(err)
	}
	if list, _ := os.ReadDir(temp); len(list) > 0 {
		t.Error("left behind:", list)
	}
}

// TestAPlaceThatCannotBe has a temporary one instead: a home may be read-only.
func TestAPlaceThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exe, _ := os.Executable()
	c, err := New(filepath.Join(file, "browser"), exe, "run-1234", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(); err != nil {
		t.Error(err)
	}
	c.Close()
	if _, err := os.Stat(c.dir); err == nil {
		t.Error("the temporary directory is still there")
	}
}
