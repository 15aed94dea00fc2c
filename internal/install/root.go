package install

import (
	"acp-shim/internal/textfile"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	currentLink = "current"
	serverPar   = "agy_acp_server.par"
	serverExe   = "agy_acp_server.exe"
	harness     = "localharness_external"
)

// Root is the directory that has the builds.
type Root struct{ dir string }

// At is the root at a path, there or not.
func At(dir string) Root { return Root{dir} }

// Path is where it is.
func (r Root) Path() string { return r.dir }

func (r Root) build(name string) string { return filepath.Join(r.dir, name) }

// servers are the names that a server has on a platform of the registry's.
func servers(platform string) []string {
	if strings.HasPrefix(platform, "windows-") {
		return []string{serverExe, serverPar}
	}
	return []string{serverPar}
}

// hasHarness tells that the harness is among the names beside the server.
func hasHarness(names func(string) bool) bool { return names(harness) || names(harness+".exe") }

// Build is one that is there.
type Build struct {
	Name    string
	Dir     string
	Current bool
	// Manifest is nil for a build that was not installed by this program; then
	// Problem says why, and Size and When are taken from its files.
	Manifest *Manifest
	Problem  string
	Size     int64
	When     time.Time
	SHA256   string
	// Server is the path of its server, "" where it has none.
	Server  string
	Harness bool
}

// Current is the name of the build in use, "" where there is none.
func (r Root) Current() string {
	target, err := os.Readlink(filepath.Join(r.dir, currentLink))
	if err != nil {
		return ""
	}
	if filepath.IsAbs(target) {
		rel, err := filepath.Rel(r.dir, target)
		if err != nil {
			return ""
		}
		target = rel
	}
	target = filepath.Clean(target)
	if CheckName(target) != nil {
		return ""
	}
	return target
}

// Builds are those that are there, the newest first.
func (r Root) Builds() ([]Build, error) {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the builds: %w", err)
	}
	var list []Build
	for _, e := range entries {
		if e.IsDir() && CheckName(e.Name()) == nil {
			list = append(list, r.look(e.Name()))
		}
	}
	slices.SortFunc(list, func(a, b Build) int {
		if c := b.When.Compare(a.When); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, nil
}

// Find is one build. Its error names those that are there instead.
func (r Root) Find(name string) (b Build, err error) {
	if err := CheckName(name); err != nil {
		return Build{}, err
	}
	if st, err := os.Lstat(r.build(name)); err != nil || !st.IsDir() {
		return Build{}, fmt.Errorf("there is no build %s in %s; %s", name, r.dir, r.others())
	}
	return r.look(name), nil
}

func (r Root) others() string {
	list, _ := r.Builds()
	if len(list) == 0 {
		return "none is installed: acp-shim agent install"
	}
	var names []string
	for _, b := range list[:min(len(list), 10)] {
		names = append(names, b.Name)
	}
	return "there is " + strings.Join(names, ", ")
}

func (r Root) look(name string) Build {
	b := Build{Name: name, Dir: r.build(name), Current: r.Current() == name, SHA256: ArchiveHash(r.build(name))}
	for _, s := range servers(Platform()) {
		if st, err := os.Stat(filepath.Join(b.Dir, s)); err == nil && st.Mode().IsRegular() && b.Server == "" {
			b.Server = filepath.Join(b.Dir, s)
		}
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(b.Dir, name))
		return err == nil
	}
	b.Harness = hasHarness(there)
	m, err := readManifest(b.Dir)
	if err == nil {
		b.Manifest, b.Size, b.When = m, m.Size(), m.Installed
		return b
	}
	b.Problem = err.Error()
	if st, err := os.Stat(b.Dir); err == nil {
		b.When = st.ModTime()
	}
	entries, _ := os.ReadDir(b.Dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			b.Size += info.Size()
		}
	}
	return b
}

// findLocked is Find in a locked root: what it finds stays so until unlock.
func (r Root) findLocked(name string) (b Build, unlock func(), err error) {
	if b, err = r.Find(name); err != nil {
		return b, nil, err // without a lock, which takes a directory
	}
	if unlock, err = r.lock(); err != nil {
		return b, nil, err
	}
	if b, err = r.Find(name); err != nil {
		unlock()
	}
	return b, unlock, err
}

// Use makes a build the one in use.
func (r Root) Use(name string) (Build, error) {
	b, unlock, err := r.findLocked(name)
	if err != nil {
		return b, err
	}
	defer unlock()
	if b.Server == "" {
		return b, fmt.Errorf("build %s has no %s in it, so that it cannot be used; install it again: acp-shim agent install --force", name, servers(Platform())[0])
	}
	if err := r.point(name); err != nil {
		return b, err
	}
	b.Current = true
	return b, nil
}

// point switches the link, at once: whoever opens a file through it gets the
// old build or the new one, never none.
func (r Root) point(name string) error {
	link := filepath.Join(r.dir, currentLink)
	if st, err := os.Lstat(link); err == nil && st.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is no link, so it is not touched: move it out of the way, then acp-shim agent use %s", link, name)
	}
	temp := filepath.Join(r.dir, fmt.Sprintf(".%s-%d", currentLink, os.Getpid()))
	os.Remove(temp)
	if err := os.Symlink(name, temp); err != nil {
		return linkError(link, err)
	}
	if runtime.GOOS == "windows" {
		os.Remove(link) // a link to a directory is not replaced there
	}
	if err := os.Rename(temp, link); err != nil {
		os.Remove(temp)
		return linkError(link, err)
	}
	return nil
}

func linkError(link string, err error) error {
	if runtime.GOOS == "windows" {
		return fmt.Errorf("making the link %s: %w; on Windows that takes Developer Mode or an administrator: "+
			"turn it on, or name the server by its path with --agent or ACP_SHIM_AGENT", link, textfile.Reason(err))
	}
	return fmt.Errorf("making the link %s: %w", link, textfile.Reason(err))
}

// Remove removes a build. It refuses to remove the one in use, and one out of
// which something runs, unless it is forced to.
func (r Root) Remove(name string, force bool) (Build, error) {
	b, unlock, err := r.findLocked(name)
	if err != nil {
		return b, err
	}
	defer unlock()
	if b.Current && !force {
		return b, fmt.Errorf("build %s is the one in use; switch first (acp-shim agent use BUILD), or give --force", name)
	}
	if pids := running(b.Dir); len(pids) > 0 && !force {
		return b, fmt.Errorf("build %s is running (pid %s); end the editor that uses it first, or give --force", name, joinInts(pids))
	}
	gone := filepath.Join(r.dir, fmt.Sprintf(".gone-%s-%d", name, os.Getpid()))
	if err := os.Rename(b.Dir, gone); err != nil {
		return b, fmt.Errorf("removing build %s: %w", name, textfile.Reason(err))
	}
	if b.Current {
		os.Remove(filepath.Join(r.dir, currentLink))
	}
	if err := os.RemoveAll(gone); err != nil {
		return b, fmt.Errorf("build %s is out of use, but its files in %s could not be removed: %w", name, gone, textfile.Reason(err))
	}
	return b, nil
}

func joinInts(list []int) string {
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 5 {
			fmt.Fprintf(&b, "and %d more", len(list)-i)
			break
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// sweep removes what an installation that was killed has left, and puts a build
// back that it had taken out of its place. Nobody else works here: the caller has
// the lock.
func (r Root) sweep() {
	entries, _ := os.ReadDir(r.dir)
	for _, e := range entries {
		path := filepath.Join(r.dir, e.Name())
		if old, ok := strings.CutPrefix(e.Name(), ".old-"); ok {
			if at := strings.LastIndexByte(old, '-'); at > 0 && CheckName(old[:at]) == nil {
				if _, err := os.Lstat(r.build(old[:at])); errors.Is(err, fs.ErrNotExist) && os.Rename(path, r.build(old[:at])) == nil {
					continue
				}
			}
		}
		for _, left := range []string{".new-", ".old-", ".gone-", "." + currentLink + "-"} {
			if strings.HasPrefix(e.Name(), left) {
				os.RemoveAll(path)
			}
		}
	}
}
