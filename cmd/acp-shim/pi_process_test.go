//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// slowly stretches a bound of the program's by what else the machine does now:
// a process that was killed needs a processor to die on.
func slowly(d time.Duration) time.Duration {
	var load float64
	var running int
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 4 * d
	}
	fmt.Sscanf(string(b), "%f %f %f %d/", &load, new(float64), new(float64), &running)
	return time.Duration(float64(d) * max(1, load/float64(runtime.NumCPU()), float64(running)/float64(runtime.NumCPU())))
}

// alive are the processes of this stage, by their environment, with
// what they are. Where there is no /proc nobody is found.
func (s *stage) alive() map[int]string {
	all := map[int]string{}
	procs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range procs {
		env, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\x00"+string(env), "\x00"+stageMark+s.home+"\x00") {
			continue
		}
		var pid int
		fmt.Sscanf(path, "/proc/%d/", &pid)
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		all[pid] = strings.ReplaceAll(strings.TrimRight(string(cmd), "\x00"), "\x00", " ")
	}
	return all
}

// gone waits until no process of this stage is left.
func (s *stage) gone(within time.Duration) (left map[int]string) {
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		left = s.alive()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// leftovers fails the test if a process outlives its programs.
func (s *stage) leftovers() {
	left := s.alive()
	if !s.untidy {
		left = s.gone(slowly(3 * time.Second))
	}
	for pid, what := range left {
		if !s.untidy {
			s.t.Errorf("left behind: %d %s", pid, what)
		}
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended just now
		}
	}
}

func haveProc() bool {
	_, err := os.Stat("/proc/self/environ")
	return err == nil
}
