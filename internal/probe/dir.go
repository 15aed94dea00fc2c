package probe

import (
	"os"
	"time"
)

// removeAll removes a directory in which something may still write for a moment:
// a process that was killed, and what it had started.
func removeAll(dir string) {
	for try := range 10 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(time.Duration(try+1) * 10 * time.Millisecond)
	}
}
