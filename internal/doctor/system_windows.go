package doctor

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

func freeSpace(dir string) (uint64, error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free, total, all uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, &total, &all)
	return free, err
}

func noexec(string) bool { return false }

// writable asks by doing: what Windows allows is not told by a mode.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".acp-shim-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

func lookPath(name string) (string, error) { return exec.LookPath(name) }
