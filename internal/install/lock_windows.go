package install

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is far behind the owner's pid: what is locked on Windows cannot be
// read, and others want to show it.
const lockAt = 0x7fffffff

func lock(f *os.File) bool {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: lockAt}) == nil
}

// free is how many bytes a directory's volume has for this user.
func free(dir string) (int64, bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var n uint64
	if windows.GetDiskFreeSpaceEx(name, &n, nil, nil) != nil {
		return 0, false
	}
	return int64(min(n, 1<<62)), true
}
