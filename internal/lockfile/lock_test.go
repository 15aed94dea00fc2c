package lockfile

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

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
