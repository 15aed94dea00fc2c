//go:build unix

package agent

import (
	"os"
	"syscall"
	"time"
)

// terminate asks the group first, in one step, and then what is in the agent's
// session but made itself a group of its own, as an interactive shell does for
// each of its jobs.
func (p *Process) terminate() {
	p.signalGroup(syscall.SIGTERM)
	table, err := p.table.list()
	if err != nil {
		return
	}
	k := p.kin(table)
	for _, m := range table {
		if k.sessions[m.sid] && m.pgrp != p.Pid && m.pid > 1 && !k.spare[m.pid] && !m.zombie {
			syscall.Kill(m.pid, syscall.SIGTERM)
		}
	}
}

// signalGroup signals the process group that the agent leads. Its number
// belongs to the group as long as anything is in it; once the leader is reaped
// and its number is a process again, the group is gone and the number another's.
func (p *Process) signalGroup(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped && syscall.Kill(p.Pid, 0) != syscall.ESRCH {
		return
	}
	syscall.Kill(-p.Pid, sig)
}

// kin is what belongs to the process by this table.
func (p *Process) kin(table []proc) *kin {
	k := &kin{roots: map[int]bool{}, sessions: map[int]bool{}, spare: spared(p.Pid), since: p.born}
	p.mu.Lock()
	reaped := p.reaped
	p.mu.Unlock()
	// Like a group's, a session's number is not given again while the session
	// has a member: a process of that number after the leader was reaped means
	// that the session is gone.
	given := false
	if reaped {
		for _, m := range table {
			given = given || m.pid == p.Pid
		}
	}
	if !given {
		k.roots[p.Pid] = true
		k.sessions[p.Pid] = true
	}
	if p.run != "" {
		k.name, k.mark, k.environ = EnvProc, procMark(p.run, p.Gen), p.table.environ
	}
	return k
}

// spared are this process and all that this package waits for, but the one that
// is to be killed.
func spared(but int) map[int]bool {
	managedMu.Lock()
	defer managedMu.Unlock()
	s := map[int]bool{os.Getpid(): true}
	for pid := range managed {
		if pid != but {
			s[pid] = true
		}
	}
	return s
}

// kill collects and kills until two rounds in a row found nothing new. What was
// sent a SIGKILL cannot fork any more, so a round only finds what was started
// before; the second one finds what was in the middle of an exec, without an
// environment to read, during the first.
func (p *Process) kill() {
	sent := map[procKey]bool{}
	looked := map[procKey]bool{}
	deadline := time.Now().Add(killBound)
	for clean := 0; clean < 2; {
		table, err := p.table.list()
		if err != nil {
			p.signalGroup(syscall.SIGKILL)
			return
		}
		k := p.kin(table)
		k.looked = looked
		fresh := killAll(p.table, k.byBlood(table), sent)
		if len(sent) == fresh {
			p.signalGroup(syscall.SIGKILL)
		}
		fresh += killAll(p.table, k.byMark(table), sent)
		if fresh == 0 {
			clean++
		} else {
			clean = 0
		}
		if time.Now().After(deadline) {
			return
		}
		if clean < 2 {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// killAll kills those that were not sent a SIGKILL before, and counts them.
func killAll(t processTable, found []proc, sent map[procKey]bool) int {
	n := 0
	for _, m := range found {
		if !sent[m.key()] {
			sent[m.key()] = true
			t.kill(m)
			n++
		}
	}
	return n
}
