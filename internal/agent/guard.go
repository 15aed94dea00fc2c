package agent

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GuardArg is the first argument that makes the binary a guard. Its main must
// look for it before anything else:
//
//	if len(os.Args) > 1 && os.Args[1] == agent.GuardArg {
//		os.Exit(agent.GuardMain(os.Args[2:]))
//	}
const GuardArg = "__guard"

// Guard is the process that cleans up when this one is gone. It knows the agents
// by their mark; what Start tells it besides, line by line over its pipe, is
// what the mark cannot tell:
//
//	+PID BORN   an agent: its session and descendants belong too
//	-PID        it is dead and reaped
//	tPATH       a temporary directory to remove at the end
//	-tPATH      removed already
type Guard struct {
	run  string
	pipe *os.File // the write end; this process alone has it

	mu     sync.Mutex
	closed bool
	done   chan struct{}
}

// guards are those that run; Start tells them about its processes.
var (
	guardsMu sync.Mutex
	guards   = map[*Guard]bool{}
)

// StartGuard starts a guard for a run. It takes as long as an exec does and may
// be called beside a start, before or after it: processes of the run that are
// already there are told to the new guard. If its error is not nil, the shim can
// go on without: then an end by SIGKILL leaves the agents behind.
func StartGuard(run string) (*Guard, error) {
	if !validRunID(run) {
		return nil, fmt.Errorf("cannot start the guard: the run id %q is not 8 to 64 letters, digits, '-' or '_'", run)
	}
	g := &Guard{run: run, done: make(chan struct{})}
	if err := g.start(); err != nil {
		return nil, fmt.Errorf("cannot start the guard: %w", err)
	}
	return g, nil
}

// Done is closed when the guard's process is gone: after Close, or because
// somebody killed it; then another one can be started.
func (g *Guard) Done() <-chan struct{} { return g.done }

// Close has the guard kill what is left of the run, and end. It returns at once;
// Done tells when that is over.
func (g *Guard) Close() {
	guardsMu.Lock()
	delete(guards, g)
	guardsMu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		if g.pipe != nil {
			g.pipe.Close()
		} else {
			close(g.done) // there is no process
		}
	}
}

// tell writes one line. A guard that does not read (a debugger, SIGSTOP) must
// not hold up a start: then it goes without.
func (g *Guard) tell(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.pipe == nil {
		return
	}
	g.pipe.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	io.WriteString(g.pipe, line)
}

func tellGuards(run, line string) {
	if run == "" || line == "" {
		return
	}
	guardsMu.Lock()
	var of []*Guard
	for g := range guards {
		if g.run == run {
			of = append(of, g)
		}
	}
	guardsMu.Unlock()
	for _, g := range of {
		g.tell(line)
	}
}

// enlist makes the guard known to Start, and what runs already to the guard. A
// process that is started at the same moment may be told twice, but none is told
// after it was told to be dead: that needs the lock first.
func (g *Guard) enlist() {
	guardsMu.Lock()
	guards[g] = true
	guardsMu.Unlock()
	managedMu.Lock()
	defer managedMu.Unlock()
	var lines strings.Builder
	for p := range live {
		if p.run == g.run {
			lines.WriteString(guardAdd(p))
		}
	}
	if lines.Len() > 0 {
		g.tell(lines.String())
	}
}

func guardAdd(p *Process) string {
	line := fmt.Sprintf("+%d %d\n", p.Pid, p.born)
	if p.temp != "" && !strings.Contains(p.temp, "\n") {
		line += "t" + p.temp + "\n"
	}
	return line
}

func guardRemove(p *Process) string { return fmt.Sprintf("-%d\n", p.Pid) }

func guardTempRemoved(dir string) string {
	if strings.Contains(dir, "\n") {
		return ""
	}
	return "-t" + dir + "\n"
}

// ward is what a guard was told.
type ward struct {
	agents map[int]uint64 // pid to born
	temps  map[string]bool
	since  uint64 // the shim's own start: nothing of the run is older
}

func newWard() *ward { return &ward{agents: map[int]uint64{}, temps: map[string]bool{}} }

func (w *ward) hear(line string) {
	switch {
	case strings.HasPrefix(line, "t"):
		w.temps[line[1:]] = true
	case strings.HasPrefix(line, "-t"):
		delete(w.temps, line[2:])
	case strings.HasPrefix(line, "+"):
		a, b, _ := strings.Cut(line[1:], " ")
		pid, err := strconv.Atoi(a)
		born, err2 := strconv.ParseUint(b, 10, 64)
		if err == nil && err2 == nil && pid > 1 {
			w.agents[pid] = born
		}
	case strings.HasPrefix(line, "-"):
		if pid, err := strconv.Atoi(line[1:]); err == nil {
			delete(w.agents, pid)
		}
	}
}
