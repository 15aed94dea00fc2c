package doctor

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"acp-shim/internal/agent"
)

// What can be fixed is in order afterwards.
func TestFix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table speaks of modes")
	}
	n := 0
	for _, r := range rows() {
		if !r.fixes {
			continue
		}
		n++
		t.Run(r.check+"/"+r.name, func(t *testing.T) {
			w := newWard(t)
			r.breaks(w)
			w.Kill = func(p agent.Seen) {
				w.killed = append(w.killed, p.PID)
				w.seen = slices.DeleteFunc(slices.Clone(w.seen), func(x agent.Seen) bool { return x.PID == p.PID })
			}
			f := w.look(r.check)[0]
			f.Repair()
			if !f.Fixed || f.FixError != "" {
				t.Fatalf("%+v", f)
			}
			if again := w.look(r.check); len(again) != 1 || again[0].Level != OK {
				t.Errorf("afterwards: %+v", again)
			}
		})
	}
	if n < 5 {
		t.Errorf("only %d rows can be fixed", n)
	}
}

func TestFixThatFails(t *testing.T) {
	f := warning("x").fix(func() error { return os.ErrPermission })
	f.Repair()
	if f.Fixed || f.FixError == "" {
		t.Errorf("%+v", f)
	}
	done := ok("x").fix(func() error { t.Error("what is in order was fixed"); return nil })
	done.Repair()
}

// A process that has a shim again, or whose number was given again, is spared.
func TestOrphansAreLookedAtAgain(t *testing.T) {
	w := newWard(t)
	run := []string{"aaaaaaaa"}
	w.seen = append(w.seen, agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run}, agent.Seen{PID: 8, PPID: 1, Name: "sh", Runs: run})
	f := w.look("orphans")[0]
	for _, unsure := range []struct {
		runs []Run
		err  error
	}{{err: errors.New("x")}, {runs: []Run{{Alive: true}}}} {
		w.Runs = func() ([]Run, error) { return unsure.runs, unsure.err }
		if f.Repair(); len(w.killed) > 0 || f.Fixed || !strings.Contains(f.FixError, "cannot be told") {
			t.Errorf("whose run is over cannot be told: %+v, killed %v", f, w.killed)
		}
	}
	w.Runs = nil
	w.seen = []agent.Seen{{PID: 1, Name: "systemd"}, {PID: 7, PPID: 1, Name: "sh", Runs: run}, {PID: 8, PPID: 100, Name: "other"}}
	f.Repair()
	if !slices.Equal(w.killed, []int{7}) {
		t.Errorf("killed %v", w.killed)
	}
}

// A link in the place of a directory is not followed, and what it leads to stays.
func TestALinkInItsPlace(t *testing.T) {
	w := newWard(t)
	dir := w.aged("tmp/acp-shim-123", 2*hour)
	f := w.look("leftovers")[0]
	precious := w.file("precious/file", "x", 0o600)
	w.remove("tmp/acp-shim-123")
	if err := os.Symlink(w.path("precious"), dir); err != nil {
		t.Skip(err)
	}
	f.Repair()
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// One that cannot be removed keeps no other from it, and is told of.
func TestOneOfThemCannotBeRemoved(t *testing.T) {
	w := newWard(t)
	removed := 0
	stuck := Run{Remove: func() error { return errors.New("it is stuck") }}
	w.Runs = func() ([]Run, error) {
		return []Run{stuck, {Remove: func() error { removed++; return nil }}, stuck}, nil
	}
	f := w.look("leftovers")[0]
	f.Repair()
	if f.Fixed || removed != 1 || f.FixError != "it is stuck, and 1 more failed" || !strings.Contains(f.Text, "3 shims were killed") {
		t.Errorf("%+v, %d were removed", f, removed)
	}
}
