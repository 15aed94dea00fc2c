package install

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// running are the processes whose program is in a directory. A script's program
// is its interpreter, so the words of the command line count as well.
func running(dir string) []int {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	inside := func(path string) bool { return strings.HasPrefix(path, real+"/") || strings.HasPrefix(path, dir+"/") }
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		exe, _ := os.Readlink("/proc/" + e.Name() + "/exe")
		if inside(exe) || slices.ContainsFunc(words(pid), inside) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// words are the first two of a process' command line: an interpreter and its
// script.
func words(pid int) []string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 8<<10)
	n, _ := f.Read(b)
	list := strings.SplitN(string(b[:n]), "\x00", 3)
	return list[:min(len(list), 2)]
}
