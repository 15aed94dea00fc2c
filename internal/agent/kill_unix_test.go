//go:build unix

package agent

import (
	"os"
	"slices"
	"testing"
)

// fakeTable is a process table that stands still.
type fakeTable struct {
	procs []proc
	env   map[int]string
}

func (f fakeTable) list() ([]proc, error)  { return f.procs, nil }
func (f fakeTable) born(int) uint64        { return 0 }
func (f fakeTable) environ(pid int) []byte { return []byte(f.env[pid]) }
func (f fakeTable) kill(proc)              {}

// The number of a reaped leader may be given again: then neither the process of
// that number nor its session are the agent's.
func TestKinOfAReapedLeader(t *testing.T) {
	table, env := familyTable()
	without := slices.DeleteFunc(slices.Clone(table), func(m proc) bool { return m.pid == 100 })
	again := append(slices.Clone(without), proc{pid: 100, ppid: 1, sid: 100, born: 99})
	for i := range again {
		if again[i].pid == 104 || again[i].pid == 101 {
			again[i].sid = 1 // its session would not have let the number go
		}
	}
	env = map[int]string{103: env[103]}
	for _, c := range []struct {
		name        string
		table       []proc
		reaped      bool
		blood, mark []int
	}{
		{"alive", table, false, []int{100, 101, 102, 104}, []int{103, 105}},
		{"reaped", without, true, []int{101, 102, 104}, []int{103, 105}},
		{"number given again", again, true, nil, []int{103, 105}},
	} {
		p := &Process{Pid: 100, Gen: 1, run: "run-0001", born: 30, reaped: c.reaped, table: fakeTable{c.table, env}}
		k := p.kin(c.table)
		if !k.spare[os.Getpid()] {
			t.Errorf("%s: this process is not spared", c.name)
		}
		if got := pidsOf(k.byBlood(c.table)); !slices.Equal(got, c.blood) {
			t.Errorf("%s: by blood %v, want %v", c.name, got, c.blood)
		}
		if got := pidsOf(k.byMark(c.table)); !slices.Equal(got, c.mark) {
			t.Errorf("%s: by mark %v, want %v", c.name, got, c.mark)
		}
	}
}
