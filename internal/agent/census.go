package agent

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Seen is one process as the system's table shows it.
type Seen struct {
	PID, PPID int
	// Name is the file name of its program, as it was called.
	Name string
	// Runs are the shims that it comes from by its mark, the outermost first.
	Runs []string
	// Guards is the run that it is the guard of.
	Guards string
	// Temp is its directory for temporary files, by its environment.
	Temp string

	proc  proc
	table processTable
}

// Kill ends it, if it still is the process that was seen.
func (s Seen) Kill() { s.table.kill(s.proc) }

// Census is all processes, without zombies. Of other users' little more is known
// than that they are there. Its error means that the table cannot be read here.
func Census() ([]Seen, error) { return census(systemTable(), commandLine) }

func census(t processTable, command func(pid int) []string) ([]Seen, error) {
	list, err := t.list()
	if err != nil {
		return nil, err
	}
	var all []Seen
	for _, p := range list {
		if p.zombie {
			continue
		}
		s := Seen{PID: p.pid, PPID: p.ppid, proc: p, table: t}
		if words := command(p.pid); len(words) > 0 {
			s.Name = filepath.Base(words[0])
			if len(words) == 3 && words[1] == GuardArg {
				s.Guards = words[2]
			}
		}
		s.readEnviron(t.environ(p.pid))
		all = append(all, s)
	}
	return all, nil
}

func (s *Seen) readEnviron(block []byte) {
	for len(block) > 0 {
		var kv []byte
		kv, block, _ = bytes.Cut(block, []byte{0})
		if runs, ok := bytes.CutPrefix(kv, []byte(EnvRun+"=")); ok {
			for run := range strings.SplitSeq(string(runs), ":") {
				if validRunID(run) {
					s.Runs = append(s.Runs, run)
				}
			}
		} else if dir, ok := bytes.CutPrefix(kv, []byte("TMPDIR=")); ok {
			s.Temp = string(dir)
		}
	}
}

// IsTemp tells that a file name is that of an agent's private temporary directory:
// os.MkdirTemp puts a number behind the prefix, and nothing else; the shim's other
// directories have a word there.
func IsTemp(name string) bool {
	number, ok := strings.CutPrefix(name, tempPrefix)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}
