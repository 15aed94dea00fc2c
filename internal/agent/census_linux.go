package agent

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// commandLine is a process's program and arguments, nil if they cannot be read.
func commandLine(pid int) []string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	defer f.Close()
	// Nothing that is looked for has many arguments.
	b, _ := io.ReadAll(io.LimitReader(f, 16<<10))
	text := strings.TrimSuffix(string(b), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
