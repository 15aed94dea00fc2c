package install

import (
	"fmt"
	"path/filepath"

	"acp-shim/internal/lockfile"
	"acp-shim/internal/textfile"
)

const lockFile = ".lock"

// lock keeps other installations out of a root until unlock is called.
func (r Root) lock() (unlock func(), err error) {
	f, owner, err := lockfile.Take(filepath.Join(r.dir, lockFile))
	switch {
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w; name another directory with --root", r.dir, textfile.Reason(err))
	case owner != "":
		return nil, fmt.Errorf("another acp-shim agent command is at work in %s (%s); wait for its end", r.dir, owner)
	}
	return func() { lockfile.Drop(f) }, nil
}
