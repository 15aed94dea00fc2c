package agent

import (
	"fmt"
	"slices"
	"testing"
)

// A table in which 1 is init, 50 the shim, 60 the guard, 100 and 200 agents.
func familyTable() ([]proc, map[int]string) {
	table := []proc{
		{pid: 1, ppid: 0, sid: 1, born: 1},
		{pid: 2, ppid: 0, sid: 0, born: 1}, // a kernel thread
		{pid: 40, ppid: 1, sid: 40, born: 10},
		{pid: 50, ppid: 40, sid: 40, born: 20},
		{pid: 60, ppid: 50, sid: 60, born: 21},
		{pid: 100, ppid: 50, sid: 100, pgrp: 100, born: 30},
		{pid: 101, ppid: 100, sid: 100, born: 31},               // the harness
		{pid: 102, ppid: 101, sid: 102, born: 32},               // a tool in its own session
		{pid: 103, ppid: 1, sid: 103, born: 33},                 // ... whose parent is gone
		{pid: 104, ppid: 1, sid: 100, born: 33},                 // parent gone, environment cleared, same session
		{pid: 105, ppid: 103, sid: 105, born: 34},               // environment cleared, below a marked one
		{pid: 106, ppid: 101, sid: 100, born: 34, zombie: true}, // dead already
		{pid: 200, ppid: 50, sid: 200, pgrp: 200, born: 30},
		{pid: 201, ppid: 1, sid: 201, born: 35},
		{pid: 300, ppid: 1, sid: 300, born: 5}, // older than the agent, wears the mark by chance
	}
	env := map[int]string{
		100: "A=1\x00ACP_SHIM_PROC=run-0001.1\x00", 101: "ACP_SHIM_PROC=run-0001.1\x00B=2\x00",
		102: "ACP_SHIM_PROC=run-0001.1\x00", 103: "ACP_SHIM_PROC=outer-01.4:run-0001.1\x00",
		200: "ACP_SHIM_PROC=run-0001.10\x00", 201: "ACP_SHIM_PROC=run-0001.10\x00",
		300: "ACP_SHIM_PROC=run-0001.1\x00", 40: "HOME=/\x00",
	}
	return table, env
}

func pidsOf(ps []proc) []int {
	var out []int
	for _, p := range ps {
		out = append(out, p.pid)
	}
	slices.Sort(out)
	return out
}

func TestKin(t *testing.T) {
	table, env := familyTable()
	reads := map[int]int{}
	k := &kin{
		roots: map[int]bool{100: true}, sessions: map[int]bool{100: true},
		spare: map[int]bool{50: true, 60: true, 200: true}, since: 30,
		name: EnvProc, mark: "run-0001.1", looked: map[procKey]bool{},
		environ: func(pid int) []byte { reads[pid]++; return []byte(env[pid]) },
	}
	if got, want := pidsOf(k.byBlood(table)), []int{100, 101, 102, 104}; !slices.Equal(got, want) {
		t.Errorf("by blood %v, want %v", got, want)
	}
	for range 2 {
		// 105 is known by its parent only, 104 by its session.
		if got, want := pidsOf(k.byMark(table)), []int{100, 101, 102, 103, 105}; !slices.Equal(got, want) {
			t.Errorf("by mark %v, want %v", got, want)
		}
	}
	for pid, want := range map[int]int{300: 0, 50: 0, 200: 0, 106: 0, 201: 1, 105: 2} {
		if reads[pid] != want {
			t.Errorf("the environment of %d was read %d times, want %d", pid, reads[pid], want)
		}
	}
}

// Whatever the table says, these are never in it.
func TestKinNeverTakesInitOrTheSpared(t *testing.T) {
	table, _ := familyTable()
	for i := range table {
		table[i].sid = 100
	}
	k := &kin{
		roots: map[int]bool{1: true, 100: true}, sessions: map[int]bool{100: true},
		spare: map[int]bool{50: true, 60: true}, name: EnvProc, mark: "x",
		environ: func(int) []byte { return []byte("ACP_SHIM_PROC=x\x00") },
	}
	for what, got := range map[string][]proc{"blood": k.byBlood(table), "mark": k.byMark(table)} {
		for _, p := range got {
			if p.pid <= 1 || p.pid == 50 || p.pid == 60 || p.zombie {
				t.Errorf("by %s: %+v", what, p)
			}
		}
		if len(got) < 8 {
			t.Errorf("by %s: only %v", what, pidsOf(got))
		}
	}
}

func TestCarries(t *testing.T) {
	for _, c := range []struct {
		block string
		want  bool
	}{
		{"ACP_SHIM_RUN=aaaa1111\x00", true},
		{"ACP_SHIM_RUN=aaaa1111", true},
		{"X=1\x00ACP_SHIM_RUN=bbbb2222:aaaa1111:cccc3333\x00Y=2\x00", true},
		{"ACP_SHIM_RUN=aaaa11112\x00", false},
		{"ACP_SHIM_RUN=xaaaa1111\x00", false},
		{"XACP_SHIM_RUN=aaaa1111\x00", false},
		{"NOTE=ACP_SHIM_RUN=aaaa1111\x00", false},
		{"ACP_SHIM_RUN=\x00", false},
		{"", false},
		{"\x00\x00", false},
	} {
		if got := carries([]byte(c.block), EnvRun, "aaaa1111"); got != c.want {
			t.Errorf("carries(%q) = %v", c.block, got)
		}
	}
}

func TestProcArgs(t *testing.T) {
	block := "\x02\x00\x00\x00/usr/bin/node\x00\x00\x00\x00node\x00app.js\x00ACP_SHIM_RUN=aaaa1111\x00HOME=/\x00"
	if got := environOfProcArgs([]byte(block)); string(got) != "ACP_SHIM_RUN=aaaa1111\x00HOME=/\x00" {
		t.Errorf("environment %q", got)
	}
	// An argument is no variable.
	fake := "\x02\x00\x00\x00/bin/echo\x00echo\x00ACP_SHIM_RUN=aaaa1111\x00HOME=/\x00"
	if carries(environOfProcArgs([]byte(fake)), EnvRun, "aaaa1111") {
		t.Error("an argument was taken for the mark")
	}
	for n := range len(block) {
		environOfProcArgs([]byte(block[:n])) // torn answers must not panic
	}
}

func TestMarks(t *testing.T) {
	for id, want := range map[string]bool{NewRunID(): true, "short": false, "has:colon": false, "has.dot.in": false, "": false, "12345678": true} {
		if validRunID(id) != want {
			t.Errorf("validRunID(%q) = %v", id, !want)
		}
	}
	for in, want := range map[string]int{"": 0, "3": 3, "-1": 0, "x": 0, "99": 99} {
		if got := Depth(func(string) string { return in }); got != want {
			t.Errorf("depth of %q is %d, want %d", in, got, want)
		}
	}
}

func TestChildEnv(t *testing.T) {
	t.Setenv(EnvRun, "outer-run")
	got := childEnv(Spec{
		Env: []string{"A=1", "B=2", "A=3", "", "=C:=odd"}, ExtraEnv: []string{"B=4", "C=5"},
		RunID: "inner-run", Gen: 2,
	}, "/tmp/x")
	want := []string{"A=3", "B=4", "=C:=odd", "C=5", "ACP_SHIM_RUN=outer-run:inner-run",
		"ACP_SHIM_PROC=inner-run.2", "ACP_SHIM_DEPTH=1", "TMPDIR=/tmp/x", "TEMP=/tmp/x", "TMP=/tmp/x"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
