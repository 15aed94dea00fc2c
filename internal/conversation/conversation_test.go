package conversation

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFind(t *testing.T) {
	f := conversation(t, whole)
	home := f.Home()
	if Dir(home) != filepath.Dir(f.Path) || f.ID != "4d5a6c89" {
		t.Errorf("got %+v in %s", f, home)
	}
	if got, err := Find(home, "4d5a6c89"); err != nil || got != f {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, id := range []string{"", ".", "..", "../4d5a6c89", "conversations/4d5a6c89", `..\x`, "C:x", "x\x00", "4d5a"} {
		if _, err := Find(home, id); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestOpen: nothing that SQLite would make a database of, or follow to another
// name of the log, gets past it.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	text := filepath.Join(dir, "text.db")
	for path, content := range map[string]string{empty: "", empty + "-wal": "the log", text: `{"step":"user"}` + "\n"} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{empty, text, dir, filepath.Join(dir, "none.db")} {
		if f, err := Open(path); err == nil {
			t.Errorf("%s was taken: %+v", path, f)
		}
	}
	if b, _ := os.ReadFile(empty + "-wal"); string(b) != "the log" {
		t.Error("the log is gone")
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("one was made")
	}
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	needsProgram(t)
	f := conversation(t, bricked)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(f.Path, link); err != nil {
		t.Fatal(err)
	}
	got, err := Open(link)
	if err != nil || got != f {
		t.Fatalf("got %+v, %v; wanted %+v", got, err, f)
	}
	if _, err := repair(t, Repair{File: got}); err != nil {
		t.Fatal(err)
	}
	if len(copies(t, f)) != 1 || status(t, f.Path) != "[[3] [3] [5] [3] [5]]" {
		t.Errorf("copies %q, status %s", copies(t, f), status(t, f.Path))
	}
	dangling := filepath.Join(t.TempDir(), "dangling.db")
	if err := os.Symlink(filepath.Join(t.TempDir(), "none"), dangling); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dangling); !errors.Is(err, ErrNone) {
		t.Errorf("a link to nothing: %v", err)
	}
}

// TestLsof asks the program that tells open files where there is no /proc.
func TestLsof(t *testing.T) {
	p := needsProgram(t)
	f := conversation(t, bricked)
	if _, err := lsofOwners(t.Context(), f.parts()); err != nil {
		t.Skip(err)
	}
	w := write(t, p, f.Path, "SELECT count(*) FROM steps")
	pids, err := lsofOwners(t.Context(), f.parts())
	if err != nil || len(pids) == 0 || pids[0] != w.cmd.Process.Pid {
		t.Errorf("the process that has it is %d; got %v, %v", w.cmd.Process.Pid, pids, err)
	}
	w.kill()
	if pids, err := lsofOwners(t.Context(), f.parts()); err != nil || len(pids) > 0 {
		t.Errorf("once it is gone: %v, %v", pids, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := lsofOwners(t.Context(), f.parts()); !errors.Is(err, ErrCannotTell) {
		t.Errorf("without lsof: %v", err)
	}
}
