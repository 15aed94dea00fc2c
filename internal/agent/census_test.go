package agent

import (
	"encoding/binary"
	"slices"
	"testing"
)

type paperTable struct {
	procs  []proc
	blocks map[int]string
	killed []int
}

func (t *paperTable) list() ([]proc, error)  { return t.procs, nil }
func (t *paperTable) born(pid int) uint64    { return 0 }
func (t *paperTable) environ(pid int) []byte { return []byte(t.blocks[pid]) }
func (t *paperTable) kill(p proc)            { t.killed = append(t.killed, p.pid) }

func TestCensus(t *testing.T) {
	table := &paperTable{
		procs: []proc{{pid: 1}, {pid: 2, ppid: 1}, {pid: 3, ppid: 2, zombie: true}, {pid: 4, ppid: 1}},
		blocks: map[int]string{
			2: "A=b\x00ACP_SHIM_RUN=aaaaaaaa:bbbbbbbb\x00TMPDIR=/tmp/acp-shim-12\x00",
			4: "ACP_SHIM_RUN=no run\x00",
		},
	}
	list, err := census(table, func(pid int) []string {
		return map[int][]string{2: {"/x/agy_acp_server.par", "--uid="}, 4: {"acp-shim", GuardArg, "aaaaaaaa"}}[pid]
	})
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	agy := list[1]
	if agy.Name != "agy_acp_server.par" || agy.PPID != 1 || agy.Temp != "/tmp/acp-shim-12" || !slices.Equal(agy.Runs, []string{"aaaaaaaa", "bbbbbbbb"}) {
		t.Errorf("%+v", agy)
	}
	if g := list[2]; g.Guards != "aaaaaaaa" || g.Runs != nil {
		t.Errorf("%+v", g)
	}
	agy.Kill()
	if !slices.Equal(table.killed, []int{2}) {
		t.Error(table.killed)
	}
}

func TestIsTemp(t *testing.T) {
	for name, want := range map[string]bool{
		"acp-shim-1234567": true, "acp-shim-": false, "acp-shim-demo-123": false, "acp-shim-sim-1000": false, "other-123": false,
	} {
		if IsTemp(name) != want {
			t.Error(name)
		}
	}
}

func TestCommandOfProcArgs(t *testing.T) {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	b = append(b, "/bin/sh\x00\x00\x00sh\x00-c\x00A=b\x00"...)
	if got := commandOfProcArgs(b); !slices.Equal(got, []string{"sh", "-c"}) {
		t.Errorf("%q", got)
	}
	if got := commandOfProcArgs([]byte{1}); got != nil {
		t.Errorf("%q", got)
	}
}
