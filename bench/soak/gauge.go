package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// gauge is what the shim has, at one moment.
type gauge struct {
	goroutines, fds, threads int
	rss                      int // KiB
	agents, sessions         int // processes that are its children, the guard not counted; sessions that are open
	processes, zombies       int // of the whole run
}

const heading = "   time  what         goroutines  fds  threads  rss/MiB  agents  sessions  processes  zombies  frames"

func (g gauge) print(r *run, what string) {
	r.c.mu.Lock()
	frames := r.c.frames
	r.c.mu.Unlock()
	fmt.Printf("%6.0fs  %-12s %10d %4d %8d %8.1f %7d %9d %10d %8d %7d\n", time.Since(r.began).Seconds(), what,
		g.goroutines, g.fds, g.threads, float64(g.rss)/1024, g.agents, g.sessions, g.processes, g.zombies, frames)
}

func (r *run) gauge() gauge {
	pid := r.cmd.Process.Pid
	dir := fmt.Sprintf("/proc/%d/", pid)
	var g gauge
	fds, _ := os.ReadDir(dir + "fd")
	g.fds = len(fds)
	status, _ := os.ReadFile(dir + "status")
	g.threads, g.rss = field(status, "Threads:"), field(status, "VmRSS:")
	g.goroutines, g.sessions = r.status()
	g.agents = len(r.family())
	for _, p := range r.left() {
		g.processes++
		if p.zombie {
			g.zombies++
		}
	}
	return g
}

func field(status []byte, name string) int {
	_, rest, _ := strings.Cut(string(status), name)
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(words[0])
	return n
}

// status is what the shim says of itself, to within a quarter of a second of its last
// change.
func (r *run) status() (goroutines, sessions int) {
	cmd := exec.Command(r.shim, "status", "--json")
	cmd.Env = r.env
	out, err := cmd.Output()
	if err != nil {
		return 0, 0
	}
	var all []struct {
		Status struct {
			PID        int        `json:"pid"`
			Goroutines int        `json:"goroutines"`
			Sessions   []struct{} `json:"sessions"`
			LeftOut    int        `json:"sessionsLeftOut"`
		} `json:"status"`
	}
	if json.Unmarshal(out, &all) != nil {
		return 0, 0
	}
	for _, s := range all {
		if s.Status.PID == r.cmd.Process.Pid {
			return s.Status.Goroutines, len(s.Status.Sessions) + s.Status.LeftOut
		}
	}
	return 0, 0
}

// family are the agents that are children of the shim.
func (r *run) family() (list []int) {
	for _, p := range r.left() {
		if p.parent == r.cmd.Process.Pid && !p.zombie && strings.Contains(p.words, " sim ") {
			list = append(list, p.pid)
		}
	}
	return list
}

// process is one of the run.
type process struct {
	pid, parent int
	zombie      bool
	words       string
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.words) }

// left are the processes of the run, by the home in their environment; a zombie has
// none, and is found by its parent.
func (r *run) left() (list []process) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range procs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, _ := os.ReadFile(dir + "/stat")
		words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(words) < 2 || pid == r.cmd.Process.Pid {
			continue
		}
		p := process{pid: pid, zombie: words[0] == "Z"}
		p.parent, _ = strconv.Atoi(words[1])
		env, _ := os.ReadFile(dir + "/environ")
		if !(p.zombie && p.parent == r.cmd.Process.Pid) && !strings.Contains("\x00"+string(env), "\x00HOME="+r.dir+"\x00") {
			continue
		}
		cmd, _ := os.ReadFile(dir + "/cmdline")
		p.words = strings.ReplaceAll(string(cmd), "\x00", " ")
		if strings.Contains(p.words, " status --json") {
			continue
		}
		list = append(list, p)
	}
	return list
}

// What a process of an agent's has in the shim: descriptors of its pipes and of
// itself, and the goroutines that attend, read, write and take its stderr. A session that
// is open has its lock.
const (
	fdsOfAgent        = 6
	fdsOfSession      = 1
	goroutinesOfAgent = 8
	memoryOfAgent     = 512 // KiB: the buffer that it is read into, and its goroutines' stacks
)

// flat compares two quiet states. How many processes are alive then, and how many
// sessions are open, is chance; each has something in the shim. Beside that, a few
// descriptors and goroutines may be on their way. Memory may be more by what a heap of
// that size leaves to be collected: the capture's and the client's buffers take turns
// with it.
func flat(before, after gauge) error {
	more, opened := max(0, after.agents-before.agents), max(0, after.sessions-before.sessions)
	for _, x := range []struct {
		what           string
		was, is, bound int
	}{
		{"goroutines", before.goroutines, after.goroutines, before.goroutines + more*goroutinesOfAgent + 4},
		{"descriptors", before.fds, after.fds, before.fds + more*fdsOfAgent + opened*fdsOfSession + 4},
		{"threads", before.threads, after.threads, before.threads + 12},
		{"KiB of memory", before.rss, after.rss, before.rss + more*memoryOfAgent + 24<<10},
		{"zombies", before.zombies, after.zombies, 0},
	} {
		fmt.Printf("%-13s  %d after the warm-up, %d in the end, at most %d\n", x.what, x.was, x.is, x.bound)
		if x.is > x.bound {
			return fmt.Errorf("there are %d %s in the end; there were %d, and %d is the bound", x.is, x.what, x.was, x.bound)
		}
	}
	if after.goroutines == 0 {
		return fmt.Errorf("the shim does not say how many goroutines it has")
	}
	return nil
}
