package conversation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// playProgram puts a shell script in the place of sqlite3.
func playProgram(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no shell scripts")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sqlite3"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestProgram(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"old":     {"echo '3.22.0 2018-01-22 18:45:57'", "3.27 or later: "},
		"ancient": {"echo 2.8.17", "VACUUM INTO"},
		"broken":  {"exit 3", "-version failed"},
		"other":   {"echo 'SQLite version 3'", `says "SQLite version 3"`},
	} {
		t.Run(name, func(t *testing.T) {
			playProgram(t, c.script)
			_, err := FindProgram(t.Context())
			if !errors.Is(err, ErrNoProgram) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("new", func(t *testing.T) {
		playProgram(t, "echo '4.1 2031-01-01'")
		if p, err := FindProgram(t.Context()); err != nil || p.Version != "4.1" {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("none", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := FindProgram(t.Context()); !errors.Is(err, ErrNoProgram) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDiskFull bounds the size of the files that the program writes.
func TestDiskFull(t *testing.T) {
	p := needsProgram(t)
	f := conversation(t, bricked)
	before := dump(t, f.Path)
	playProgram(t, fmt.Sprintf("trap '' XFSZ; ulimit -f 100; exec %s \"$@\"", p.Path))
	_, err := repair(t, Repair{File: f})
	if err == nil {
		t.Fatal("a copy was made of a database that is larger than a file may be")
	}
	wants(t, err.Error(), "no copy could be made", "nothing was changed")
	if left := copies(t, f); left != nil || !slices.Equal(dump(t, f.Path), before) {
		t.Errorf("left %q; the conversation: %q", left, dump(t, f.Path))
	}
}

// TestPaths has names that mean something to a shell, to SQL or to the program.
func TestPaths(t *testing.T) {
	needsProgram(t)
	names := []string{"plain", "it's", `a "b" c`, "-readonly", "x;y", "ü – 漢", "[a]", "100%", "$(touch x)", "file:x?mode=memory"}
	if runtime.GOOS == "windows" {
		names = []string{"plain", "it's", "-readonly", "x;y", "ü – 漢", "[a]", "100%"}
	} else {
		names = append(names, "two\nlines", "two\n.shell touch x")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			made := conversation(t, bricked)
			home := filepath.Join(t.TempDir(), name)
			if err := os.MkdirAll(Dir(home), 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(Dir(home), name+".db")
			if err := os.Rename(made.Path, path); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := repair(t, Repair{File: f, DryRun: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := repair(t, Repair{File: f}); err != nil {
				t.Fatal(err)
			}
			if len(copies(t, f)) != 1 {
				t.Errorf("there are %q", copies(t, f))
			}
			if err := os.Rename(path, made.Path); err != nil {
				t.Fatal(err)
			}
			if got := status(t, made.Path); got != "[[3] [3] [5] [3] [5]]" {
				t.Errorf("status: %s", got)
			}
		})
	}
}

// TestUsersCommandsAreNotRead: every run of the program names another file in the
// place of ~/.sqliterc. (That file itself is not put to the test: the program
// finds it by the user's entry in passwd.)
func TestUsersCommandsAreNotRead(t *testing.T) {
	p := needsProgram(t)
	f := conversation(t, bricked)
	log := filepath.Join(t.TempDir(), "log")
	playProgram(t, fmt.Sprintf("echo \"$*\" >>%s; exec %s \"$@\"", log, p.Path))
	if _, err := repair(t, Repair{File: f}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(runs) != 3 {
		t.Errorf("the program was run %d times: %q", len(runs), runs)
	}
	for _, run := range runs {
		if !strings.Contains(run, "-init "+os.DevNull+" ") {
			t.Errorf("it was run with %q", run)
		}
	}
}

func TestContentTellsTypesApart(t *testing.T) {
	p := needsProgram(t)
	digests := map[digest]string{}
	for _, rows := range []string{"(1)", "('1')", "(1.0)", "(x'31')", "(NULL)", "('')", "(x'')", "(1),(1)", "(1),(2)", "(2),(1)", "('1'||char(0)||'2')", "('1'||char(0)||'3')"} {
		f := conversation(t, "CREATE TABLE x(a);INSERT INTO x VALUES"+rows)
		c, err := p.connect(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.read(false)
		c.close()
		if err != nil {
			t.Fatal(err)
		}
		if other := digests[all["x"]]; other != "" && other != "(1),(2)" {
			t.Errorf("%s is like %s", rows, other)
		}
		digests[all["x"]] = rows
	}
	if len(digests) != 11 {
		t.Errorf("%d digests of 12 contents, of which two differ in their order only", len(digests))
	}
}
