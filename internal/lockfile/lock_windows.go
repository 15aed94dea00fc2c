package lockfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// What is locked on Windows cannot be read: the lock is far behind the owner's
// name, which others want to show.
const lockAt = 0x7fffffff

func lock(f *os.File) bool { return lockRange(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockable tells that nobody has f locked. It ends with f being shared, until
// that is closed.
func lockable(f *os.File) bool { return lockRange(f, 0) }

func lockRange(f *os.File, flags uint32) bool {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: lockAt}) == nil
}
