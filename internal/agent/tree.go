package agent

// proc is one line of the system's process table.
type proc struct {
	pid, ppid, pgrp, sid int
	// born is when it started, in the table's own units; with pid it names a
	// process for good, where pid alone may be given again.
	born   uint64
	zombie bool
	// guard is set for a shim's guard, where the table tells: a nested shim's
	// must live on to do its work when that shim is killed, and then ends.
	guard bool
}

type procKey struct {
	pid  int
	born uint64
}

func (p proc) key() procKey { return procKey{p.pid, p.born} }

// processTable is what the system tells about its processes.
type processTable interface {
	// list is all of them; it must not hang, whatever state they are in.
	list() ([]proc, error)
	// born is a process's start, 0 if not known.
	born(pid int) uint64
	// environ is its environment as a block of variables each ended by NUL;
	// nil if it cannot be read (another user's, a zombie, in the middle of an
	// exec).
	environ(pid int) []byte
	// kill sends SIGKILL if pid is still the process that was born then.
	kill(p proc)
}

// kin finds the processes that belong together.
type kin struct {
	// roots are leaders that are alive, or dead and not yet reaped.
	roots map[int]bool
	// sessions are those whose members all belong.
	sessions map[int]bool
	// spare never belong, and what descends from them only if it is marked.
	spare map[int]bool
	// since is the earliest start of a process that can belong: no other one's
	// environment is read, which is what costs most.
	since uint64
	// mark is looked for in the list that the variable name holds; empty if
	// there is none.
	name, mark string
	environ    func(pid int) []byte
	// looked remembers whose environment has no mark, so that the next round
	// only reads those of new processes. One that shows no environment at all
	// may be in the middle of an exec and is read again.
	looked map[procKey]bool
}

// byBlood finds those that belong by session and parent. It reads nothing but
// the table.
func (k *kin) byBlood(table []proc) []proc {
	in := map[int]bool{}
	for _, p := range table {
		if !k.spare[p.pid] && (k.roots[p.pid] || k.sessions[p.sid]) {
			in[p.pid] = true
		}
	}
	return k.withDescendants(table, in)
}

// byMark finds those that carry the mark, with all that descends from them.
func (k *kin) byMark(table []proc) []proc {
	if k.mark == "" {
		return nil
	}
	in := map[int]bool{}
	for _, p := range table {
		if k.spare[p.pid] || p.zombie || p.born < k.since || k.looked[p.key()] {
			continue
		}
		block := k.environ(p.pid)
		if carries(block, k.name, k.mark) {
			in[p.pid] = true
		} else if len(block) > 0 && k.looked != nil {
			k.looked[p.key()] = true
		}
	}
	return k.withDescendants(table, in)
}

func (k *kin) withDescendants(table []proc, in map[int]bool) []proc {
	if len(in) == 0 {
		return nil
	}
	children := map[int][]int{}
	for _, p := range table {
		if !p.guard {
			children[p.ppid] = append(children[p.ppid], p.pid)
		}
	}
	queue := make([]int, 0, len(in))
	for pid := range in {
		queue = append(queue, pid)
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range children[pid] {
			if !in[child] && !k.spare[child] {
				in[child] = true
				queue = append(queue, child)
			}
		}
	}
	var out []proc
	for _, p := range table {
		if in[p.pid] && !p.zombie && p.pid > 1 {
			out = append(out, p)
		}
	}
	return out
}
