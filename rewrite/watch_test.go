package rewrite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched follows a file of numbers as text; every outcome is one string.
func watched(t *testing.T, path string, add func(*fsnotify.Watcher, string) error, every time.Duration) chan string {
	t.Helper()
	happened := make(chan string, 64)
	w := newWatcher(path, nil, func(b []byte) (string, error) {
		if strings.Contains(string(b), "bad") {
			return "", errors.New("it is bad")
		}
		return string(b), nil
	}, func(v string) { happened <- v }, func(err error) { happened <- "error: " + err.Error() }, add, every)
	t.Cleanup(w.Close)
	return happened
}

func TestWatch(t *testing.T) {
	for _, x := range []struct {
		name string
		add  func(*fsnotify.Watcher, string) error
	}{
		{"by events", (*fsnotify.Watcher).Add},
		{"by looking, where watches ran out", func(*fsnotify.Watcher, string) error { return errors.New("no space left on device") }},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "rules.json")
			write(t, path, "one")
			happened := watched(t, path, x.add, 5*time.Millisecond)
			expect := func(want string) {
				t.Helper()
				if got := receive(t, happened); !strings.HasPrefix(got, want) {
					t.Fatalf("got %q, want %q", got, want)
				}
			}
			write(t, path, "two")
			expect("two")
			// As editors do it: another file takes its place.
			write(t, path+"~", "three")
			if err := os.Rename(path+"~", path); err != nil {
				t.Fatal(err)
			}
			expect("three")
			write(t, path, "bad")
			expect("error: it is bad")
			write(t, path, "four")
			expect("four")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			expect("error: open ")
			write(t, path, "five")
			expect("five")
			// Another file beside it is nothing.
			write(t, filepath.Join(dir, "other"), "x")
			write(t, path, "six")
			expect("six")
		})
	}
}

// TestWatchWaitsForTheDirectory: in a fresh home the agent makes it, and then the
// file.
func TestWatchWaitsForTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "agent", "settings.json")
	happened := watched(t, path, (*fsnotify.Watcher).Add, time.Hour)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, "one")
	if got := receive(t, happened); got != "one" {
		t.Fatalf("got %q", got)
	}
	write(t, path, "two")
	if got := receive(t, happened); got != "two" {
		t.Fatalf("got %q", got)
	}
}

func TestWatchFollowsALink(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	target, path := filepath.Join(there, "real.json"), filepath.Join(here, "link.json")
	write(t, target, "one")
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no links here: %v", err)
	}
	happened := watched(t, path, (*fsnotify.Watcher).Add, time.Hour)
	write(t, target, "two")
	if got := receive(t, happened); got != "two" {
		t.Errorf("got %q", got)
	}
}

// TestWatchSaysThatItIsSlow tells a file that is followed from one that is looked at.
func TestWatchSaysThatItIsSlow(t *testing.T) {
	nothing := func([]byte) (string, error) { return "", nil }
	for _, want := range []error{nil, syscall.ENOSPC} {
		w := newWatcher(filepath.Join(t.TempDir(), "f"), nil, nothing, func(string) {}, func(error) {},
			func(*fsnotify.Watcher, string) error { return want }, time.Hour)
		if err := w.Slow(); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		w.Close()
	}
}

// What changed between the caller's reading and the watch is seen.
func TestWatchMissesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "new")
	happened := make(chan string, 1)
	w := Watch(path, []byte("old"), func(b []byte) (string, error) { return string(b), nil }, func(v string) { happened <- v }, func(error) {})
	if got := receive(t, happened); got != "new" {
		t.Errorf("got %q", got)
	}
	w.Close()
	w.Close() // again is harmless
}

// A file of servers that is at fault leaves those of the last good one.
func TestFaultyMCPConfigKeepsTheLastGoodOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"mcpServers":{"a":{"command":"c"}}}`)
	reports := make(chan error, 8)
	in := newInjector(t, InjectOptions{MCPConfig: path, MCPStdio: []string{"flag=x"}, Changed: func() { reports <- nil }})
	in.Watch(func(err error) { reports <- err })
	for _, x := range []struct{ text, report, names string }{
		{`{"mcpServers":{"a":{}}}`, `the server "a": it has neither a command nor a url`, "flag a"},
		{`{"mcpServers":{"flag":{"command":"c"}}}`, `the server "flag" is given twice, by --mcp-stdio and by the file`, "flag a"},
		{`{"mcpServers":{"b":{"command":"c"}}}`, "", "flag b"},
	} {
		write(t, path, x.text)
		err := receive(t, reports)
		if x.report == "" && err != nil || x.report != "" && (err == nil || !strings.Contains(err.Error(), x.report)) {
			t.Errorf("%s: reported %v", x.text, err)
		}
		if got := strings.Join(in.Names(), " "); got != x.names {
			t.Errorf("%s: injected are %s", x.text, got)
		}
	}
}
