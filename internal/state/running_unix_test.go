//go:build unix

package state

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// FIFOs where files should be: nobody waits for a writer.
func TestRunsThatAreFIFOs(t *testing.T) {
	d, _ := Open(t.TempDir())
	running := filepath.Join(d.Path(), "running")
	if err := os.Mkdir(running, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"7.json", "8.lock"} {
		if err := syscall.Mkfifo(filepath.Join(running, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(running, "7.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if runs, err := d.Runs(); err != nil || len(runs) != 1 || runs[0].Text != nil {
		t.Errorf("%v %+v", err, runs)
	}
}
