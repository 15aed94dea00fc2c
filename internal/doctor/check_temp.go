package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"acp-shim/internal/agent"
)

// On Windows every start of the server unpacks about 1.2 GB (report). Elsewhere it
// runs in place, and its tools need what they need.
const (
	windowsStart = 1200 * mib
	tempNeeded   = 16 * mib
	tempLittle   = 256 * mib
)

func (x *Exam) temporary() []Finding {
	dir := x.temp()
	name := "TMPDIR"
	if x.GOOS == "windows" {
		name = "TEMP"
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return one(problem("the directory for temporary files, %s, cannot be used: %s", dir, because(err)).remedy("make it, or set %s to one that is there", name))
	case !info.IsDir() || !x.Writable(dir):
		return one(problem("no temporary file can be made in %s", dir).remedy("set %s to a directory that this user can write to", name))
	}
	free, err := x.Free(dir)
	switch {
	case err != nil:
		return one(warning("how much space is free in %s is not known: %s", dir, because(err)))
	case x.GOOS == "windows" && free < windowsStart:
		return one(problem("%d MiB are free in %s, and every start of the agent unpacks about 1.2 GB there", free/mib, dir).
			remedy("remove what is not needed, first of all old _MEI* directories, or set TEMP to a larger drive"))
	case free < tempNeeded:
		return one(problem("%d MiB are free in %s", free/mib, dir).remedy("make space, or set %s to another directory", name))
	case free < tempLittle:
		return one(warning("%d MiB are free in %s", free/mib, dir).remedy("make space, or set %s to another directory", name))
	case x.Noexec(dir):
		return one(warning("%s is mounted noexec: what tools unpack there cannot be started", dir).
			remedy("set TMPDIR to a directory where programs may run, in the agent's environment"))
	}
	return one(ok("%d MiB free in %s", free/mib, dir))
}

const (
	// unusedFor is how long a private directory must be untouched before it counts as
	// left behind, so that one is not taken whose process is just being started.
	unusedFor = time.Hour
	// meiOld is the same for what the server unpacks. It belongs to any program that
	// was made that way, so it is only shown.
	meiOld = 24 * time.Hour
	// listMax is how many of a kind are named.
	listMax = 5
)

func (x *Exam) leftovers() []Finding {
	var all []Finding
	ours, mei := x.oldDirs()
	if len(ours) > 0 {
		f := warning("%s of dead agents in %s: %s", count(len(ours), "temporary directory", "temporary directories"), x.temp(), some(ours)).
			remedy("acp-shim doctor --fix removes them")
		all = append(all, f.fix(func() error { return removeAll(ours) }))
	}
	if len(mei) > 0 {
		all = append(all, warning("%s in %s that no agent has touched for a day: %s; a killed agent leaves them", count(len(mei), "unpacked program", "unpacked programs"), x.temp(), some(mei)).
			remedy("end the agents, and remove them: they are 1.2 GB each"))
	}
	if f, ok := x.killedRuns(); ok {
		all = append(all, f)
	}
	if all == nil {
		return one(ok("nothing was left behind"))
	}
	return all
}

// oldDirs are the private temporary directories that no process uses, and what the
// server unpacks on Windows.
func (x *Exam) oldDirs() (ours, mei []string) {
	dir := x.temp()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil
	}
	processes, perr := x.processes()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		age := x.Now().Sub(info.ModTime())
		switch {
		// Without a process table nobody knows whether one is in use.
		case agent.IsTemp(e.Name()) && perr == nil && age > unusedFor && mine(info) && !inUse(path, processes):
			ours = append(ours, path)
		case strings.HasPrefix(e.Name(), "_MEI") && age > meiOld:
			mei = append(mei, path)
		}
	}
	return ours, mei
}

// inUse goes by the name, which is a random number: the way to it may be another one
// for that process, by a link, or by another spelling of TMPDIR.
func inUse(dir string, processes []agent.Seen) bool {
	name := filepath.Base(dir)
	return slices.ContainsFunc(processes, func(p agent.Seen) bool {
		return slices.Contains(strings.Split(filepath.ToSlash(p.Temp), "/"), name)
	})
}

func removeAll(dirs []string) error {
	var failed []error
	for _, dir := range dirs {
		// Looked at again: a link that was put in its place is not followed.
		info, err := os.Lstat(dir)
		if err != nil || info.Mode().Type() != fs.ModeDir {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			failed = append(failed, fmt.Errorf("removing %s: %w", dir, err))
		}
	}
	return firstOf(failed)
}

// firstOf is one line for several errors.
func firstOf(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	return fmt.Errorf("%w, and %d more failed", errs[0], len(errs)-1)
}

func (x *Exam) killedRuns() (Finding, bool) {
	runs, err := x.runs()
	if err != nil {
		return warning("%s", err).remedy("see the state directory, above"), true
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Alive })
	if len(runs) == 0 {
		return Finding{}, false
	}
	return warning("%s killed and could not clear up", count(len(runs), "shim was", "shims were")).
		remedy("acp-shim status shows what it did last; acp-shim doctor --fix removes that").
		fix(func() error {
			var failed []error
			for _, r := range runs {
				if err := r.Remove(); err != nil {
					failed = append(failed, err)
				}
			}
			return firstOf(failed)
		}), true
}

func count(n int, single, several string) string {
	if n == 1 {
		return "1 " + single
	}
	return fmt.Sprintf("%d %s", n, several)
}

func some(paths []string) string {
	var names []string
	for i, p := range paths {
		if i == listMax {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(paths)-listMax)
		}
		names = append(names, filepath.Base(p))
	}
	return strings.Join(names, ", ")
}
