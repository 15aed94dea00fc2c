package conversation

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procOwners looks through /proc. Files are told by what they are and not by
// name: a process in a container sees other names. Of processes of other users
// nothing can be seen; the lock that the mend takes keeps those out.
func procOwners(paths []string) ([]int, error) {
	var files []os.FileInfo
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			files = append(files, info)
		}
	}
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil, ErrCannotTell
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil, ErrCannotTell
	}
	var pids []int
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", p.Name(), "fd")
		fds, _ := os.ReadDir(dir)
		for _, fd := range fds {
			if hasOpen(filepath.Join(dir, fd.Name()), files, paths) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}

func hasOpen(fd string, files []os.FileInfo, paths []string) bool {
	target, err := os.Readlink(fd)
	if err != nil || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/dev/") {
		return false
	}
	for _, path := range paths {
		if strings.TrimSuffix(target, " (deleted)") == path {
			return true
		}
	}
	info, err := os.Stat(fd)
	if err != nil {
		return false
	}
	for _, f := range files {
		if os.SameFile(f, info) {
			return true
		}
	}
	return false
}
