package record

import (
	"fmt"
	"os"

	sys "golang.org/x/sys/windows"
)

// openFile opens name, which must not be a link.
func openFile(name string, flag int) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed; name the file itself", name)
	}
	return os.OpenFile(name, flag, 0o600)
}

// canLock tells that a file which somebody writes to can be told from others.
const canLock = true

// What is locked on Windows cannot be read: the lock is far behind the end.
const lockAt = 0x7fffffff

// lock takes a file for this process, until it is closed. It reports false where
// another one has it.
func lock(f *os.File) bool {
	return sys.LockFileEx(sys.Handle(f.Fd()), sys.LOCKFILE_EXCLUSIVE_LOCK|sys.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&sys.Overlapped{OffsetHigh: lockAt}) == nil
}
