package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"
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
