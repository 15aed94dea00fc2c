package state

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"acp-shim/proxy"
)

func TestARunningShim(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(map[string]int{"turns": 3}); err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs()
	if err != nil || len(runs) != 1 || !runs[0].Alive || len(runs[0].Text) == 0 {
		t.Fatalf("%v %+v", err, runs)
	}
	if err := runs[0].Remove(); err == nil {
		t.Error("the file of a running shim was removed")
	}
	info, err := os.Stat(runs[0].Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	// Another one of the same number, as in a container.
	other, err := d.Begin()
	if err != nil || other.path == r.path {
		t.Error(err, other)
	}
	other.End()
	r.End()
	if runs, err = d.Runs(); err != nil || len(runs) != 0 {
		t.Errorf("%v %+v", err, runs)
	}
	if left, _ := os.ReadDir(filepath.Join(d.Path(), "running")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAShimThatWasKilled(t *testing.T) {
	d, _ := Open(t.TempDir())
	r, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write("x"); err != nil {
		t.Fatal(err)
	}
	r.lock.Close() // as the system does it
	runs, err := d.Runs()
	if err != nil || len(runs) != 1 || runs[0].Alive || string(runs[0].Text) != "\"x\"\n" {
		t.Fatalf("%v %+v", err, runs)
	}
	d.PruneRuns()
	if runs, _ = d.Runs(); len(runs) != 1 {
		t.Fatal("it is gone before anybody could look at it")
	}
	long := time.Now().Add(-2 * runLasts)
	if err := os.Chtimes(runs[0].Path, long, long); err != nil {
		t.Fatal(err)
	}
	d.PruneRuns()
	if left, _ := os.ReadDir(filepath.Join(d.Path(), "running")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Where it cannot be told whether a shim has its lock, it counts as alive, and what is
// known of it stays.
func TestLocksThatCannotBeTold(t *testing.T) {
	d, _ := Open(t.TempDir())
	r, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write("x"); err != nil {
		t.Fatal(err)
	}
	r.lock.Close()
	long := time.Now().Add(-2 * runLasts)
	if err := os.Chtimes(r.path, long, long); err != nil {
		t.Fatal(err)
	}
	s, err := d.Sessions("agy", "/h", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(proxy.Record{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	defer func(before func(string) (string, error)) { ownerOf = before }(ownerOf)
	ownerOf = func(string) (string, error) { return "", syscall.ENOLCK }
	d.PruneRuns()
	if runs, err := d.Runs(); err != nil || len(runs) != 1 || !runs[0].Alive || runs[0].Untold != syscall.ENOLCK {
		t.Errorf("%v %+v", err, runs)
	}
	if list := d.Place("agy", "/h").Entries(); len(list) != 1 || list[0].Owner != "cannot be told" {
		t.Errorf("sessions: %+v", list)
	}
	ownerOf = func(string) (string, error) { return "", nil }
	if list := d.Place("agy", "/h").Entries(); len(list) != 1 || list[0].Owner != "" {
		t.Errorf("sessions: %+v", list)
	}
	d.PruneRuns()
	if runs, err := d.Runs(); err != nil || len(runs) != 0 {
		t.Errorf("%v %+v", err, runs)
	}
}

func TestNoPlaceForARunningShim(t *testing.T) {
	r, err := (*Dir)(nil).Begin()
	if err != nil || r != nil {
		t.Fatal(r, err)
	}
	if err := r.Write(1); err != nil {
		t.Error(err)
	}
	r.End()
	if runs, err := (*Dir)(nil).Runs(); err != nil || runs != nil {
		t.Error(runs, err)
	}
}

// A directory that is removed and made again has no lock any more: the write fails,
// and a file that is begun anew is seen.
func TestTheDirectoryIsMadeAgain(t *testing.T) {
	d, _ := Open(t.TempDir())
	r, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	running := filepath.Join(d.Path(), "running")
	if os.RemoveAll(running) != nil || os.Mkdir(running, 0o700) != nil {
		t.Skip("a directory that is in use cannot be removed here")
	}
	if err := r.Write(1); err == nil {
		t.Error("what nobody would find was written")
	}
	r.End()
	if r, err = d.Begin(); err != nil || r.Write(1) != nil {
		t.Fatal(err)
	}
	if runs, err := d.Runs(); err != nil || len(runs) != 1 || !runs[0].Alive {
		t.Errorf("%v %+v", err, runs)
	}
	r.End()
}

// Halves, and files without a lock, go when they are old; what is new, or another's,
// stays.
func TestPruneHalves(t *testing.T) {
	d, _ := Open(t.TempDir())
	running := filepath.Join(d.Path(), "running")
	if err := os.Mkdir(running, 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * runLasts)
	for name, at := range map[string]time.Time{newFile + "1": long, newFile + "2": time.Now(), "7.json": long, "8.json": time.Now(), "notes": long} {
		path := filepath.Join(running, name)
		if os.WriteFile(path, nil, 0o600) != nil || os.Chtimes(path, at, at) != nil {
			t.Fatal(name)
		}
	}
	d.PruneRuns()
	var left []string
	files, _ := os.ReadDir(running)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if want := []string{newFile + "2", "8.json", "notes"}; !slices.Equal(left, want) {
		t.Errorf("left: %v", left)
	}
}
