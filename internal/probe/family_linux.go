package probe

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"acp-shim/internal/agent"
)

// family is what runs of an agent process: all that carries its mark (see
// internal/agent), also when the process itself is gone. What clears its
// environment is not found.
func family(runID string, gen, _ int) (list []member, ok bool) {
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	mark := fmt.Sprintf("%s.%d", runID, gen)
	for _, e := range dir {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !carries(env, mark) {
			continue
		}
		m := member{pid: pid}
		if b, err := os.ReadFile("/proc/" + e.Name() + "/comm"); err == nil {
			m.name = strings.TrimSpace(string(b))
		}
		if b, err := os.ReadFile("/proc/" + e.Name() + "/statm"); err == nil {
			if f := strings.Fields(string(b)); len(f) > 1 {
				pages, _ := strconv.ParseInt(f[1], 10, 64)
				m.rss = pages * int64(os.Getpagesize())
			}
		}
		if b, err := os.ReadFile("/proc/" + e.Name() + "/stat"); err == nil && bytes.Contains(b, []byte(") Z ")) {
			continue
		}
		list = append(list, m)
	}
	return list, true
}

// carries looks for a mark in the list of them that an environment has.
func carries(env []byte, mark string) bool {
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		marks, ok := bytes.CutPrefix(kv, []byte(agent.EnvProc+"="))
		if !ok {
			continue
		}
		for one := range bytes.SplitSeq(marks, []byte{':'}) {
			if string(one) == mark {
				return true
			}
		}
	}
	return false
}
