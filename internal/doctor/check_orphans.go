package doctor

import (
	"fmt"
	"slices"
	"strings"

	"acp-shim/internal/agent"
)

// orphans finds processes whose shim is gone, and servers whose client is.
func (x *Exam) orphans() []Finding {
	processes, err := x.processes()
	if err != nil {
		return one(ok("the system does not tell about its processes"))
	}
	runs, err := x.runs()
	ours, others := orphans(processes, runs, x.Self)
	var all []Finding
	if len(ours) > 0 {
		f := warning("%s of shims that are gone: %s", count(len(ours), "process", "processes"), pids(ours)).remedy("kill -9 %s", numbers(ours))
		// Elsewhere a tool that leaves its parent is init's child while its shim lives:
		// only on Linux does a living shim adopt it.
		if why := untold(runs, err); why != "" {
			f = warning("%s whose parent is gone: %s; %s", count(len(ours), "process of a shim's", "processes of shims'"), pids(ours), why).remedy("kill %s, if no shim of yours needs them", numbers(ours))
		} else if x.GOOS == "linux" {
			f = f.remedy("acp-shim doctor --fix ends them").fix(func() error { return x.endOrphans(ours) })
		}
		all = append(all, f)
	}
	if len(others) > 0 {
		all = append(all, warning("%s whose client is gone, and which no shim has started: %s", count(len(others), "agent process", "agent processes"), pids(others)).
			remedy("kill %s, if nothing needs them", numbers(others)))
	}
	if all == nil {
		return one(ok("no process was left behind"))
	}
	return all
}

// endOrphans ends them after another look: what has found a shim meanwhile stays.
func (x *Exam) endOrphans(found []agent.Seen) error {
	now, err := x.Machine.Processes()
	if err != nil {
		return fmt.Errorf("looking at the processes again: %w", err)
	}
	var runs []Run
	if x.Subject.Runs != nil {
		runs, err = x.Subject.Runs()
	}
	if why := untold(runs, err); why != "" {
		return fmt.Errorf("%s; nothing was ended, try again", why)
	}
	still, _ := orphans(now, runs, x.Self)
	for _, p := range found {
		if slices.ContainsFunc(still, func(s agent.Seen) bool { return s.PID == p.PID }) {
			x.Kill(p)
		}
	}
	return nil
}

// untold says why it cannot be told whose run is over, "" if it can: one that is not
// over, and does not say which it is, may be anybody's.
func untold(runs []Run, err error) string {
	if err != nil {
		return "which shims run cannot be told: " + err.Error()
	}
	for _, r := range runs {
		if r.Alive && r.ID == "" {
			return "a shim runs of which it cannot be told which it is, by " + r.File
		}
	}
	return ""
}

// orphans are the processes with a mark of which no shim can be alive, and the
// agent's processes without one that belong to nobody.
//
// A shim's children are its own, and on Linux it adopts what they leave behind: so
// the topmost of its processes has it for a parent as long as it lives. One whose
// topmost is a child of init, or of a session's manager, and whose run has neither a
// guard nor a status that is locked, has outlived it. A shim that was started from
// such a run and lives on is nobody's orphan, nor is what stands above it.
func orphans(all []agent.Seen, runs []Run, self int) (ours, others []agent.Seen) {
	byPID := map[int]agent.Seen{}
	alive := map[string]bool{}
	for _, p := range all {
		byPID[p.PID] = p
		if p.Guards != "" {
			alive[p.Guards] = true
		}
	}
	for _, r := range runs {
		if r.Alive && r.ID != "" {
			alive[r.ID] = true
		}
	}
	isAlive := func(run string) bool { return alive[run] }
	spared := map[int]bool{}
	spare := func(pid int) { // with all above it
		for ; pid > 0 && !spared[pid]; pid = byPID[pid].PPID {
			spared[pid] = true
		}
	}
	spare(self)
	for _, p := range all {
		if p.Guards != "" || slices.ContainsFunc(p.Runs, isAlive) {
			spare(p.PID)
		}
	}
	for _, p := range all {
		switch {
		case p.PID <= 1 || spared[p.PID]:
		case len(p.Runs) > 0:
			if top := topmost(p, byPID); !spared[top.PID] && reparented(top, byPID) {
				ours = append(ours, p)
			}
		case isServer(p.Name) && reparented(p, byPID):
			others = append(others, p)
		}
	}
	return ours, others
}

// topmost is the uppermost process of the same run above p.
func topmost(p agent.Seen, byPID map[int]agent.Seen) agent.Seen {
	for range len(byPID) {
		up, ok := byPID[p.PPID]
		if !ok || !slices.ContainsFunc(up.Runs, func(r string) bool { return slices.Contains(p.Runs, r) }) {
			break
		}
		p = up
	}
	return p
}

// reparented tells that a process's parent is gone. In a container the first process
// may be anything, a shim too.
func reparented(p agent.Seen, byPID map[int]agent.Seen) bool {
	up, ok := byPID[p.PPID]
	if !ok || p.PPID <= 1 {
		return p.PPID == 1 && !strings.HasPrefix(up.Name, "acp-shim") && !isServer(up.Name)
	}
	return up.Name == "systemd" || up.Name == "init"
}

func isServer(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "agy_acp_server") || strings.HasPrefix(name, "localharness_external")
}

func pids(list []agent.Seen) string {
	var names []string
	for i, p := range list {
		if i == listMax {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(list)-listMax)
		}
		names = append(names, fmt.Sprintf("%s (pid %d)", p.Name, p.PID))
	}
	return strings.Join(names, ", ")
}

func numbers(list []agent.Seen) string {
	var words []string
	for _, p := range list {
		words = append(words, fmt.Sprint(p.PID))
	}
	return strings.Join(words[:min(len(words), 50)], " ")
}
