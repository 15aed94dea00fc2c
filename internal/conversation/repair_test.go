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
	"time"
)

func TestMend(t *testing.T) {
	needsProgram(t)
	f := conversation(t, bricked)
	before := dump(t, f.Path)
	said, err := repair(t, Repair{File: f})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, said, "open: in no process", "program: ", "copy: ", "like the original, 7 tables with 8 rows", "found: 2 steps with status 2", "mended: 2 steps, and nothing else")
	if got := status(t, f.Path); got != "[[3] [3] [5] [3] [5]]" {
		t.Errorf("status: %s", got)
	}
	left := copies(t, f)
	if len(left) != 1 || strings.HasSuffix(left[0], ".db") {
		t.Fatalf("copies: %q", left)
	}
	info, err := os.Stat(left[0])
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info.Mode(), err)
	}
	if got := dump(t, left[0]); !slices.Equal(got, before) {
		t.Errorf("the copy holds\n%q\nand the conversation held\n%q", got, before)
	}
	for i, row := range before {
		if strings.HasPrefix(row, "steps [2 101 2 ") || strings.HasPrefix(row, "steps [4 101 2 ") {
			before[i] = strings.Replace(row, " 101 2 ", " 101 5 ", 1)
		}
	}
	if got := dump(t, f.Path); !slices.Equal(got, before) {
		t.Errorf("the conversation holds\n%q\nwanted\n%q", got, before)
	}
	said, err = repair(t, Repair{File: f})
	if err != nil || len(copies(t, f)) != 1 {
		t.Errorf("once more: %v, %q", err, copies(t, f))
	}
	wants(t, said, "nothing needs mending")
}

func TestNothingToMend(t *testing.T) {
	needsProgram(t)
	f := conversation(t, whole)
	before := dump(t, f.Path)
	said, err := repair(t, Repair{File: f})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, said, "nothing needs mending, and the copy was removed")
	if left := copies(t, f); left != nil || !slices.Equal(dump(t, f.Path), before) {
		t.Errorf("left: %q; the conversation: %q", left, dump(t, f.Path))
	}
}

// killed makes a conversation whose writer was killed: all of it is in the log.
func killed(t *testing.T, p Program) File {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be killed there without its files being tidied up")
	}
	path := filepath.Join(t.TempDir(), "killed.db")
	write(t, p, path, "PRAGMA journal_mode=WAL;"+bricked).kill()
	wal, err := os.Stat(path + "-wal")
	if main, _ := os.ReadFile(path); err != nil || wal.Size() == 0 || strings.Contains(string(main), "CREATE TABLE") {
		t.Fatalf("something is in the database itself: %d bytes, log %v, %v", len(main), wal, err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRowsThatAreOnlyInTheLog(t *testing.T) {
	f := killed(t, needsProgram(t))
	said, err := repair(t, Repair{File: f})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, said, "7 tables with 8 rows", "mended: 2 steps")
	if got := status(t, f.Path); got != "[[3] [3] [5] [3] [5]]" {
		t.Errorf("status: %s", got)
	}
	if got := status(t, copies(t, f)[0]); got != "[[3] [3] [2] [3] [2]]" {
		t.Errorf("status in the copy: %s", got)
	}
}

func TestDryRun(t *testing.T) {
	p := needsProgram(t)
	for name, f := range map[string]File{"killed": killed(t, p), "closed": conversation(t, bricked)} {
		before := files(t, filepath.Dir(f.Path))
		said, err := repair(t, Repair{File: f, DryRun: true})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wants(t, said, "found: 2 steps with status 2", "would make the copy "+filepath.Base(f.Path)+".before-repair-")
		if after := files(t, filepath.Dir(f.Path)); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: there was %q, and is %q", name, names(before), names(after))
		}
	}
	said, err := repair(t, Repair{File: conversation(t, whole), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, said, "nothing needs mending")
}

func TestInUse(t *testing.T) {
	p := needsProgram(t)
	f := conversation(t, bricked)
	before := dump(t, f.Path)
	w := write(t, p, f.Path, "SELECT count(*) FROM steps")
	if _, err := f.Owners(t.Context()); err == nil {
		_, err := repair(t, Repair{File: f, Unowned: true})
		var used *InUse
		if !errors.As(err, &used) || !slices.Equal(used.PIDs, []int{w.cmd.Process.Pid}) {
			t.Errorf("the process that has it is %d; got %v", w.cmd.Process.Pid, err)
		}
	} else if !errors.Is(err, ErrCannotTell) {
		t.Errorf("got %v", err)
	}
	// SQLite's own lock keeps a repair out where processes cannot be seen.
	c, err := Repair{Patience: time.Millisecond}.own(t.Context(), p, f)
	if err == nil {
		c.close()
		t.Fatal("a database was taken that another process has")
	}
	wants(t, err.Error(), "database is locked", "another process works with it")
	w.kill()
	if after := dump(t, f.Path); !slices.Equal(after, before) || copies(t, f) != nil {
		t.Errorf("it holds %q; copies %q", after, copies(t, f))
	}
	if _, err := repair(t, Repair{File: f}); err != nil {
		t.Errorf("once it is gone: %v", err)
	}
}

// TestOthersAreKeptOut opens the database while it is being mended.
func TestOthersAreKeptOut(t *testing.T) {
	needsProgram(t)
	f := conversation(t, bricked)
	var other error
	_, err := repair(t, Repair{File: f, beforeCommit: func(*connection) error {
		db := library(t, f.Path)
		defer db.Close()
		if _, err := db.Exec("PRAGMA busy_timeout=1"); err != nil {
			other = err
			return nil
		}
		_, other = db.Exec("UPDATE steps SET status=7")
		return nil
	}})
	if err != nil || other == nil || !strings.Contains(other.Error(), "locked") {
		t.Errorf("the repair: %v; the other one: %v", err, other)
	}
	if got := status(t, f.Path); got != "[[3] [3] [5] [3] [5]]" {
		t.Errorf("status: %s", got)
	}
}

// TestTakenBack has a mend change more than it should, or come to no good end.
func TestTakenBack(t *testing.T) {
	needsProgram(t)
	trigger := bricked + ";CREATE TRIGGER x AFTER UPDATE ON steps BEGIN UPDATE gen_metadata SET size = 9; END"
	for name, c := range map[string]struct {
		db   string
		then func(*connection) error
		says string
	}{
		"a trigger": {trigger, nil, "gen_metadata"},
		"another row": {bricked, func(c *connection) error {
			return c.run("UPDATE steps SET step_payload = x'00' WHERE idx = 0")
		}, "steps"},
		"a row is gone":     {bricked, func(c *connection) error { return c.run("DELETE FROM trajectory_meta") }, "trajectory_meta"},
		"a table is there":  {bricked, func(c *connection) error { return c.run("CREATE TABLE more(x)") }, "more"},
		"another type":      {bricked, func(c *connection) error { return c.run("UPDATE gen_metadata SET data = '12'") }, "gen_metadata"},
		"a mistake":         {bricked, func(c *connection) error { return c.run("UPDATE elsewhere SET x = 1") }, "no such table"},
		"sqlite3 is killed": {bricked, func(c *connection) error { return c.cmd.Process.Kill() }, "sqlite3 stopped"},
		"a step is not mended": {bricked, func(c *connection) error {
			return c.run("UPDATE steps SET status = 2 WHERE idx = 2")
		}, "steps"},
	} {
		t.Run(name, func(t *testing.T) {
			f := conversation(t, c.db)
			before := dump(t, f.Path)
			_, err := repair(t, Repair{File: f, beforeCommit: c.then})
			if err == nil {
				t.Fatal("it was kept")
			}
			left := copies(t, f)
			if len(left) != 1 {
				t.Fatalf("copies: %q", left)
			}
			wants(t, err.Error(), "was taken back", c.says, left[0])
			if after := dump(t, f.Path); !slices.Equal(after, before) {
				t.Errorf("it holds\n%q\nand held\n%q", after, before)
			}
		})
	}
}

func TestUnknownSchema(t *testing.T) {
	needsProgram(t)
	for name, c := range map[string]struct{ db, says string }{
		"no steps":   {"CREATE TABLE other(status)", `no table "steps"`},
		"no status":  {"CREATE TABLE steps(state)", `no column "status"`},
		"steps view": {"CREATE TABLE x(status);CREATE VIEW steps AS SELECT * FROM x", `no table "steps"`},
	} {
		f := conversation(t, c.db)
		for _, dry := range []bool{false, true} {
			_, err := repair(t, Repair{File: f, DryRun: dry})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if left := copies(t, f); left != nil {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// TestDamage has a page of a table overwritten.
func TestDamage(t *testing.T) {
	needsProgram(t)
	f := conversation(t, bricked+";CREATE TABLE more(x);INSERT INTO more VALUES(zeroblob(3000)),(zeroblob(3000));PRAGMA wal_checkpoint(TRUNCATE)")
	b, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[len(b)-4096:], strings.Repeat("damage", 500))
	if err := os.WriteFile(f.Path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = repair(t, Repair{File: f})
	if err == nil {
		t.Fatal("a damaged database was mended")
	}
	wants(t, err.Error(), "damaged in another way", "was not touched")
	if left := copies(t, f); left != nil {
		t.Errorf("left %q", left)
	}
}
