//go:build !linux

package probe

import (
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// family is what runs of an agent process: it and what descends from it, as ps
// tells. What has lost its parent is not found.
func family(_ string, _, pid int) (list []member, ok bool) {
	if runtime.GOOS == "windows" {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-axo", "pid=,ppid=,rss=,comm=").Output()
	if err != nil {
		return nil, false
	}
	in := map[int]bool{pid: true}
	rows := strings.Split(string(out), "\n")
	// A child may stand before its parent: what is new in a round may have more.
	for grew := true; grew; {
		grew = false
		list = list[:0]
		for _, row := range rows {
			f := strings.Fields(row)
			if len(f) < 4 {
				continue
			}
			id, _ := strconv.Atoi(f[0])
			parent, _ := strconv.Atoi(f[1])
			kib, _ := strconv.ParseInt(f[2], 10, 64)
			if !in[id] && in[parent] {
				in[id], grew = true, true
			}
			if in[id] {
				list = append(list, member{id, strings.Join(f[3:], " "), kib << 10})
			}
		}
	}
	return list, true
}
