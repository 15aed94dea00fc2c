//go:build unix

package agent

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// guardPipe is the descriptor at which the guard finds its pipe.
const guardPipe = 3

func (g *Guard) start() error {
	exe, err := ownBinary()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe() // both ends close on exec: no agent gets one
	if err != nil {
		return err
	}
	defer r.Close()
	if err := setBlocking(r); err != nil {
		w.Close()
		return err
	}
	child, err := startManaged(g, exe, []string{"acp-shim", GuardArg, g.run}, &os.ProcAttr{
		// It must keep no directory busy, no terminal, and carry no mark: not
		// this run's, or it would kill itself, and not an outer shim's either,
		// whose guard would kill it before it has done its work.
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"},
		Files: []*os.File{null, null, null, r},
		Sys:   ownSession(),
	})
	if err != nil {
		w.Close()
		return err
	}
	g.pipe = w
	go func() {
		child.Wait()
		unmanage(g, child.Pid)
		g.Close()
		close(g.done)
	}()
	g.enlist()
	return nil
}

// GuardMain is the guard's whole life. Its argument is the run; its pipe is
// descriptor 3.
func GuardMain(args []string) int {
	if len(args) != 1 || !validRunID(args[0]) {
		fmt.Fprintf(os.Stderr, "acp-shim: %s is for the shim's own use\n", GuardArg)
		return 2
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(guardPipe, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		fmt.Fprintf(os.Stderr, "acp-shim: %s is for the shim's own use: descriptor %d is no pipe\n", GuardArg, guardPipe)
		return 2
	}
	// What ends a whole group, session or terminal must not end the guard.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2)
	nameGuard()
	closeInherited(guardPipe)
	t, w := systemTable(), newWard()
	w.since = t.born(os.Getppid())
	lines := bufio.NewReader(os.NewFile(guardPipe, "shim"))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // the shim is gone; half a line means nothing
		}
		w.hear(strings.TrimSuffix(line, "\n"))
	}
	w.clear(args[0], t, 2*time.Second)
	return 0
}

// clear kills everything of the run until nothing is left, at most for limit,
// and removes its temporary directories. Nothing found is believed after three
// rounds in 60 ms: what was in the middle of an exec when the shim died carries
// the mark only after it.
func (w *ward) clear(run string, t processTable, limit time.Duration) {
	deadline := time.Now().Add(limit)
	for clean := 0; clean < 3 && time.Now().Before(deadline); {
		table, err := t.list()
		if err != nil {
			w.killGroups()
			break
		}
		k := w.kin(run, t, table)
		found := append(k.byBlood(table), k.byMark(table)...)
		killAll(t, found, map[procKey]bool{})
		if len(found) > 0 {
			clean = 0
			time.Sleep(5 * time.Millisecond)
			continue
		}
		clean++
		time.Sleep(20 * time.Millisecond)
	}
	for dir := range w.temps {
		// A line on a pipe is not worth more trust than that.
		if strings.HasPrefix(filepath.Base(dir), tempPrefix) && filepath.IsAbs(dir) {
			os.RemoveAll(dir)
		}
	}
}

func (w *ward) kin(run string, t processTable, table []proc) *kin {
	k := &kin{
		roots: map[int]bool{}, sessions: map[int]bool{}, spare: map[int]bool{os.Getpid(): true},
		since: w.since, name: EnvRun, mark: run, environ: t.environ,
	}
	for _, p := range table {
		if born, ok := w.agents[p.pid]; ok {
			if born == p.born {
				k.roots[p.pid] = true
				k.sessions[p.pid] = true
			} else {
				delete(w.agents, p.pid)
			}
		}
	}
	// An agent whose number nobody has any more: its session may still be there.
	for pid := range w.agents {
		k.sessions[pid] = true
	}
	return k
}

// killGroups is for a system whose process table cannot be read.
func (w *ward) killGroups() {
	for pid := range w.agents {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
}
