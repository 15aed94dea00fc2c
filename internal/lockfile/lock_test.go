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

// TestNoLocksHere: a file system without locks is no other owner.
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
	Drop(f)
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
