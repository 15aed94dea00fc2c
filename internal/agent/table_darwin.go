package agent

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sysctlTable is the process table of the BSDs' sysctl(3).
type sysctlTable struct{}

func systemTable() processTable { return sysctlTable{} }

func (sysctlTable) list() ([]proc, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := make([]proc, 0, len(all))
	for i := range all {
		table = append(table, procOf(&all[i]))
	}
	return table, nil
}

func procOf(k *unix.KinfoProc) proc {
	const zombie = 5 // SZOMB in sys/proc.h
	pid := int(k.Proc.P_pid)
	sid, err := unix.Getsid(pid)
	if err != nil {
		sid = 0
	}
	return proc{
		pid: pid, ppid: int(k.Eproc.Ppid), pgrp: int(k.Eproc.Pgid), sid: sid,
		born:   uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		zombie: k.Proc.P_stat == zombie,
	}
}

func (sysctlTable) born(pid int) uint64 {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return procOf(k).born
}

// environ is empty for programs that the system protects (its own shells among
// them); those are known by session and parent only.
func (sysctlTable) environ(pid int) []byte {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	return environOfProcArgs(b)
}

func (t sysctlTable) kill(p proc) {
	if t.born(p.pid) == p.born {
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
}
