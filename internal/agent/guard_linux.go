package agent

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ownBinary is this process's binary also when the file was replaced or removed
// meanwhile: a guard of another version might not understand us.
func ownBinary() (string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// guardName is how the guard is called in the table of processes, where it would
// be "exe" otherwise; a name has room for 15 bytes.
const guardName = "acp-shim-guard"

func nameGuard() {
	os.WriteFile("/proc/self/comm", []byte(guardName), 0)
}

// closeInherited closes what the shim's client left open in the shim, so that
// the guard does not keep it open longer than the shim does. What the runtime
// opened for itself is left alone.
func closeInherited(last int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= last {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/sys/fs/cgroup/") {
			continue
		}
		syscall.Close(fd)
	}
}
