package lockfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// What is locked on Windows cannot be read: the lock is far behind the owner's
// name, which others want to show.
const lockAt = 0x7fffffff

// lock takes f, and reports false where somebody else has it. An error means that
// it cannot be told: some file systems have no locks, and nobody owns anything there.
func lock(f *os.File) (bool, error) { return lockRange(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockable tells that nobody has f locked, and ends with f being shared, until that is
// closed. An error is that of lock.
func lockable(f *os.File) (bool, error) { return lockRange(f, 0) }

func lockRange(f *os.File, flags uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: lockAt})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}
