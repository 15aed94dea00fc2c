package agent

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes this process the parent of all its descendants that
// lose theirs, so that they stay below it in the process table, and reaps them
// when they end. The function that it returns ends that.
//
// Orphans are told from children that other code of this process waits for
// (os/exec) by their session: an agent leads one of its own, and what comes from
// it is never in ours. So other code must start no child with Setsid.
func BecomeSubreaper() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return func() {}, fmt.Errorf("cannot become a subreaper: %w", err)
	}
	died := make(chan os.Signal, 1)
	quit := make(chan struct{})
	over := make(chan struct{})
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		defer close(over)
		for {
			select {
			case <-died:
				reapOrphans()
			case <-quit:
				return
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			signal.Stop(died)
			close(quit)
			// The goroutine may be held by a start that hangs, as of a program on a
			// disk that does not answer any more.
			limit := time.NewTimer(killBound)
			defer limit.Stop()
			select {
			case <-over:
			case <-limit.C:
			}
			unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		})
	}, nil
}

// reapOrphans reaps the orphans that are dead. It asks for each of them by
// number: a wait for any child would take what others wait for.
func reapOrphans() {
	starting.Lock()
	defer starting.Unlock()
	for _, pid := range orphans() {
		for {
			_, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			if err != syscall.EINTR {
				break
			}
		}
	}
}

// orphans are the children of this process that it did not start. The caller
// holds starting.
func orphans() []int {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var out []int
	for _, pid := range ownChildren() {
		managedMu.Lock()
		_, ours := managed[pid]
		managedMu.Unlock()
		if ours {
			continue
		}
		// A zombie still has its session.
		if sid, err := unix.Getsid(pid); err == nil && sid != own {
			out = append(out, pid)
		}
	}
	return out
}

// ownChildren are the children of all threads.
func ownChildren() []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue // the thread is gone, or a kernel without this file
		}
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// KillOrphans kills what agents left behind and this process adopted, with all
// that descends from it: also what wears no mark. It is for the end, when no
// agent is alive: an orphan does not tell whose it was. It takes as long as Kill
// at most.
func KillOrphans() {
	t := systemTable()
	sent := map[procKey]bool{}
	deadline := time.Now().Add(killBound)
	for clean := 0; clean < 2 && time.Now().Before(deadline); {
		table, err := t.list()
		if err != nil {
			return
		}
		k := &kin{roots: map[int]bool{}, spare: spared(0)}
		// A start that hangs must not hold up the end. As long as it does, its child
		// cannot be told from an orphan.
		known := starting.TryLock()
		if known {
			for _, pid := range orphans() {
				k.roots[pid] = true
			}
			starting.Unlock()
		}
		if killAll(t, k.byBlood(table), sent) == 0 && known {
			clean++
		} else {
			clean = 0
		}
		time.Sleep(2 * time.Millisecond)
	}
}
