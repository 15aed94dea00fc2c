package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const lockFile = ".lock"

// lock keeps other installations out of a root until unlock is called. It goes
// with the process, whichever way that ends.
func (r Root) lock() (unlock func(), err error) {
	path := filepath.Join(r.dir, lockFile)
	for range 100 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w; name another directory with --root", r.dir, reason(err))
		}
		if !lock(f) {
			text := make([]byte, 32)
			n, _ := f.ReadAt(text, 0)
			f.Close()
			return nil, fmt.Errorf("another acp-shim agent command is at work in %s%s; wait for its end", r.dir, owner(string(text[:n])))
		}
		// Its owner may have removed it between the opening and the lock.
		held, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, there) {
			f.Truncate(0)
			f.WriteAt(fmt.Appendf(nil, "pid %d", os.Getpid()), 0)
			return func() {
				os.Remove(path) // while it is locked
				f.Close()
			}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("locking %s: its lock is removed and made again all the time", r.dir)
}

// owner is the pid that a lock's owner has written, in brackets.
func owner(text string) string {
	pid, ok := strings.CutPrefix(text, "pid ")
	if !ok || pid == "" || strings.Trim(pid, "0123456789") != "" {
		return ""
	}
	return " (pid " + pid + ")"
}
