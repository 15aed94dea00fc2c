package agent

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// procfs is the process table that Linux shows as files; root is "/proc".
type procfs struct{ root string }

func systemTable() processTable { return procfs{"/proc"} }

func (t procfs) list() ([]proc, error) {
	dir, err := os.Open(t.root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]proc, 0, len(names))
	self := false
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := t.stat(pid); ok {
			table = append(table, p)
			self = self || pid == os.Getpid()
		}
	}
	if !self {
		// An empty directory, or another pid namespace's mount: its numbers say
		// nothing about our processes.
		return nil, syscall.ENOSYS
	}
	return table, nil
}

// stat reads /proc/PID/stat (proc(5)): the name stands in parentheses and may
// contain anything, also parentheses; from the state on there are only numbers.
// Unlike environ and cmdline it needs no lock of the process's memory, so that
// it cannot hang on one that is stuck in the kernel.
func (t procfs) stat(pid int) (proc, bool) {
	b, err := os.ReadFile(t.root + "/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, b)
}

func parseStat(pid int, b []byte) (proc, bool) {
	name, i := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if name < 0 || i < name {
		return proc{}, false
	}
	f := bytes.Fields(b[i+1:])
	const state, ppid, pgrp, session, starttime = 0, 1, 2, 3, 19
	if len(f) <= starttime {
		return proc{}, false
	}
	num := func(i int) int { n, _ := strconv.Atoi(string(f[i])); return n }
	born, err := strconv.ParseUint(string(f[starttime]), 10, 64)
	if err != nil {
		return proc{}, false
	}
	s := f[state][0]
	return proc{
		pid: pid, ppid: num(ppid), pgrp: num(pgrp), sid: num(session),
		born: born, zombie: s == 'Z' || s == 'X',
		guard: string(b[name+1:i]) == guardName,
	}, true
}

func (t procfs) born(pid int) uint64 {
	p, _ := t.stat(pid)
	return p.born
}

// environMax is more than execve(2) takes for arguments and environment.
const environMax = 8 << 20

func (t procfs) environ(pid int) []byte {
	f, err := os.Open(t.root + "/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, environMax))
	return b
}

// kill uses a pidfd, so that nothing is hit that got the number meanwhile.
func (t procfs) kill(p proc) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if err == unix.ENOSYS || err == unix.EPERM {
			// Before Linux 5.3, or a sandbox that does not know it.
			if now, ok := t.stat(p.pid); ok && now.born == p.born {
				syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := t.stat(p.pid); !ok || now.born != p.born {
		return
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err == unix.ENOSYS || err == unix.EPERM {
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
}
