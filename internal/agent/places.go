package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

type verdict int

const (
	isUsable verdict = iota
	isMissing
	isSelf
	isUnusable
)

// check says whether a path is a program that could be the agent, and why not.
func (f *finder) check(path string) (verdict, string) {
	st, err := os.Stat(path)
	if err != nil {
		if l, lerr := os.Lstat(path); lerr == nil && l.Mode()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			return isUnusable, "it is a symbolic link to " + target + ", which is not there"
		}
		if errors.Is(err, fs.ErrPermission) {
			return isUnusable, "permission denied"
		}
		return isMissing, "not there"
	}
	if st.IsDir() {
		return isUnusable, "it is a directory" + serverInside(path)
	}
	if f.self != nil && os.SameFile(st, f.self) {
		return isSelf, "it is this shim itself"
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o111 == 0 {
		return isUnusable, fmt.Sprintf("not executable (mode %04o); make it so: chmod +x %s", st.Mode().Perm(), path)
	}
	return isUsable, ""
}

func (f *finder) hasSeparator(name string) bool {
	return strings.ContainsRune(name, '/') || f.goos == "windows" && strings.ContainsAny(name, `\:`)
}

// pathDirs are the directories of PATH. Relative ones are left out: what the
// agent is must not depend on where the editor stands.
func (f *finder) pathDirs() []string {
	var dirs []string
	for _, d := range filepath.SplitList(f.Getenv("PATH")) {
		if filepath.IsAbs(d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// lookPath finds a command on PATH, or says why it does not. What is this shim
// itself is passed over for another of its name, unless it is wanted.
func (f *finder) lookPath(name string, selfOK bool) (path, why string) {
	dirs := f.pathDirs()
	if len(dirs) == 0 {
		return "", "PATH is empty, so that only a path can name it"
	}
	suffixes := []string{""}
	if f.goos == "windows" {
		suffixes = strings.Split(strings.ToLower(f.Getenv("PATHEXT")), ";")
		if suffixes[0] == "" {
			suffixes = []string{".exe", ".com", ".bat", ".cmd"}
		}
		if filepath.Ext(name) != "" {
			suffixes = append([]string{""}, suffixes...)
		}
	}
	self := ""
	for _, dir := range dirs {
		for _, suffix := range suffixes {
			p := filepath.Join(dir, name+suffix)
			switch v, reason := f.check(p); v {
			case isUsable:
				return p, ""
			case isSelf:
				if selfOK {
					return p, ""
				}
				if self == "" {
					self = p
				}
			case isUnusable:
				if why == "" {
					why = fmt.Sprintf("%s: %s", p, reason)
				}
			}
		}
	}
	if self != "" {
		return self, "" // the caller knows whether that may be
	}
	if why != "" {
		return "", why
	}
	return "", fmt.Sprintf("not found in the %d directories of PATH", len(dirs))
}

// servers are the names that the Antigravity server has.
func (f *finder) servers() []string {
	if f.goos == "windows" {
		return []string{"agy_acp_server.exe", serverName}
	}
	return []string{serverName}
}

// take checks one of the usual places, and notes why not.
func (f *finder) take(path string) bool {
	v, why := f.check(path)
	if v != isUsable {
		f.try("%s: %s", path, why)
	}
	return v == isUsable
}

// onPath goes through all of PATH, since the first one may be a link to this
// shim, put there to be taken for the agent.
func (f *finder) onPath() (path, source string) {
	dirs := f.pathDirs()
	for _, dir := range dirs {
		for _, name := range f.servers() {
			p := filepath.Join(dir, name)
			if v, _ := f.check(p); v != isMissing && f.take(p) {
				return p, "PATH"
			}
		}
	}
	f.try("PATH: no %s that can be used in its %d directories", f.servers()[0], len(dirs))
	return "", ""
}

// installed are the places of other clients' installations.
func (f *finder) installed() (path, source string) {
	for _, dir := range []string{"~/.local/opt/agy-acp/current", "~/.local/bin"} {
		for _, name := range f.servers() {
			if f.home == "" {
				f.try("%s/%s: no home directory", dir, name)
			} else if p := filepath.Join(expandHome(dir, f.home), name); f.take(p) {
				return p, dir
			}
		}
	}
	return "", ""
}

// zedData are the directories where Zed may keep its data (crates/paths of its
// source: FLATPAK_XDG_DATA_HOME or the XDG data directory on Linux, Application
// Support on macOS, LocalAppData on Windows); the one below ~/.var is a flatpak
// Zed's, seen from outside.
func (f *finder) zedData() []string {
	var dirs []string
	add := func(base string, more ...string) {
		if filepath.IsAbs(base) {
			dirs = append(dirs, filepath.Join(append([]string{base}, more...)...))
		}
	}
	switch f.goos {
	case "darwin":
		add(f.home, "Library", "Application Support", "Zed")
	case "windows":
		add(f.Getenv("LOCALAPPDATA"), "Zed")
	default:
		add(f.Getenv("FLATPAK_XDG_DATA_HOME"), "zed")
		if xdg := f.Getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
			add(xdg, "zed")
		} else {
			add(f.home, ".local", "share", "zed")
		}
		add(f.home, ".var", "app", "dev.zed.Zed", "data", "zed")
	}
	return dirs
}

// zed takes the newest server that Zed installed. It unpacks an agent of the
// registry to external_agents/registry/ID/v_VERSION_HASH_HASH/, one of an
// extension to external_agents/EXTENSION/AGENT/v_.../ (agent_server_store.rs).
func (f *finder) zed() (path, source string) {
	data := f.zedData()
	if len(data) == 0 {
		f.try("Zed's external_agents: no home directory")
	}
	for _, dir := range data {
		root := filepath.Join(dir, "external_agents")
		if _, err := os.Stat(root); err != nil {
			f.try("%s: not there", root)
			continue
		}
		if p := f.newest(root); p != "" {
			return p, "Zed's installation"
		}
		f.try("%s: no %s that can be used below it", root, f.servers()[0])
	}
	return "", ""
}

// zedDepth and zedEntries bound the search: the same directory also holds whole
// npm installations.
const (
	zedDepth   = 5
	zedEntries = 20000
)

func (f *finder) newest(root string) string {
	var best string
	var bestTime int64
	seen := 0
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > zedEntries {
			return filepath.SkipAll
		}
		if err != nil {
			return nil
		}
		if d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			if d.Name() == "node_modules" || strings.Count(rel, string(filepath.Separator)) >= zedDepth-1 {
				return filepath.SkipDir
			}
			return nil
		}
		for _, name := range f.servers() {
			if d.Name() != name || !f.take(path) {
				continue
			}
			if st, err := os.Stat(path); err == nil && (best == "" || st.ModTime().UnixNano() > bestTime) {
				best, bestTime = path, st.ModTime().UnixNano()
			}
		}
		return nil
	})
	return best
}
