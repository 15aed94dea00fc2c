package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestNoLocksHere: a file system without locks is no other owner, and does not prove
// that there is none.
func TestNoLocksHere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	f, owner, err := take(path, func(*os.File) (bool, error) { return false, syscall.ENOLCK })
	if f != nil || owner != "" || !errors.Is(err, syscall.ENOLCK) {
		t.Errorf("owner %q, error %v", owner, err)
	}
	f, owner, err = take(path, lock)
	if f == nil || owner != "" || err != nil {
		t.Fatalf("then: owner %q, error %v", owner, err)
	}
	if _, owner, err := take(path, lock); owner == "" || err != nil {
		t.Errorf("while it is held: owner %q, error %v", owner, err)
	}
	if owner, err := ownerOf(path, func(*os.File) (bool, error) { return false, syscall.ENOLCK }); owner != "" || !errors.Is(err, syscall.ENOLCK) {
		t.Errorf("whose it is cannot be told: owner %q, error %v", owner, err)
	}
	if owner, err := Owner(path); owner == "" || err != nil {
		t.Errorf("while it is held: owner %q, error %v", owner, err)
	}
	Drop(f)
	if owner, err := Owner(path); owner != "" || err != nil {
		t.Errorf("without a lock: owner %q, error %v", owner, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if owner, err := Owner(path); owner != "" || err != nil {
		t.Errorf("a lock of nobody's: owner %q, error %v", owner, err)
	}
	if owner, err := Owner(filepath.Dir(path)); owner != "" || err == nil {
		t.Errorf("what is no file: owner %q, error %v", owner, err)
	}
	if owner, err := Owner(filepath.Join(path, "x.lock")); owner != "" || err == nil {
		t.Errorf("one that cannot be opened: owner %q, error %v", owner, err)
	}
}

// TestTakingALockThatIsBeingRemoved has many take one lock at a time: no two may
// have it.
func TestTakingALockThatIsBeingRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var holders, most atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				f, owner, _ := Take(path)
				if owner != "" || f == nil {
					continue
				}
				if n := holders.Add(1); n > most.Load() {
					most.Store(n)
				}
				holders.Add(-1)
				os.Remove(path)
				f.Close()
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d had it at a time", most.Load())
	}
}
