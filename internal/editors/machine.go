package editors

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Machine is where clients are looked for.
type Machine struct {
	Getenv   func(string) string
	GOOS     string
	Home     string
	LookPath func(string) (string, error)
}

// ThisMachine is the one that the program runs on.
func ThisMachine() Machine {
	home, _ := os.UserHomeDir()
	return Machine{Getenv: os.Getenv, GOOS: runtime.GOOS, Home: home, LookPath: exec.LookPath}
}

func (m Machine) home(parts ...string) string {
	if m.Home == "" {
		return ""
	}
	return filepath.Join(append([]string{m.Home}, parts...)...)
}

// under is a path below the directory that a variable names. A relative one is
// none (https://specifications.freedesktop.org/basedir-spec/latest/).
func (m Machine) under(variable string, or string, parts ...string) string {
	base := m.Getenv(variable)
	if !filepath.IsAbs(base) {
		base = or
	}
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

func (m Machine) config(parts ...string) string {
	return m.under("XDG_CONFIG_HOME", m.home(".config"), parts...)
}

// roaming is where Windows programs keep their configuration.
func (m Machine) roaming(parts ...string) string {
	return m.under("APPDATA", m.home("AppData", "Roaming"), parts...)
}

// nvimConfig and nvimData are Neovim's stdpath("config") and stdpath("data").
func (m Machine) nvimConfig() string {
	if m.GOOS == "windows" {
		return m.under("LOCALAPPDATA", m.home("AppData", "Local"), "nvim")
	}
	return m.config("nvim")
}

func (m Machine) nvimData() string {
	if m.GOOS == "windows" {
		return m.under("LOCALAPPDATA", m.home("AppData", "Local"), "nvim-data")
	}
	return m.under("XDG_DATA_HOME", m.home(".local", "share"), "nvim")
}

// zed are the settings files that Zed may have; the first is its own place, where
// a file is made if there is none. On macOS it is not the system's directory
// (config_dir in crates/paths/src/paths.rs of https://github.com/zed-industries/zed).
func (m Machine) zed() []string {
	switch m.GOOS {
	case "windows":
		return []string{m.roaming("Zed", "settings.json")}
	case "darwin":
		return []string{m.home(".config", "zed", "settings.json")}
	}
	return []string{m.config("zed", "settings.json"), m.home(".var", "app", "dev.zed.Zed", "config", "zed", "settings.json")}
}

func isThere(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

func (m Machine) program(names ...string) string {
	for _, n := range names {
		if p, err := m.LookPath(n); err == nil {
			return p
		}
	}
	return ""
}

func (m Machine) glob(patterns ...string) string {
	for _, p := range patterns {
		if p == "" {
			continue
		}
		if list, _ := filepath.Glob(p); len(list) > 0 {
			return list[0]
		}
	}
	return ""
}
