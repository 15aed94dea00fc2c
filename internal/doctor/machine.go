package doctor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"acp-shim/internal/agent"
	"acp-shim/internal/install"
)

// Machine is what the checks see of the system.
type Machine struct {
	GOOS, GOARCH string
	// Root is put before the paths of the system's own files, such as /etc/group.
	Root   string
	Getenv func(string) string
	Now    func() time.Time
	// Self is this process.
	Self int
	// Free is how many bytes this user may write in a directory; Noexec tells that
	// no program can be started there; Writable that files can be made.
	Free     func(dir string) (uint64, error)
	Noexec   func(dir string) bool
	Writable func(dir string) bool
	// AVX tells that the processor has it, where /proc/cpuinfo does not.
	AVX func() bool
	// Processes are those of the system; an error means that they cannot be had.
	Processes func() ([]agent.Seen, error)
	// Kill ends one.
	Kill func(agent.Seen)
	// LookPath finds a program on PATH.
	LookPath func(string) (string, error)
	// Dial tells that something listens at an address.
	Dial func(ctx context.Context, addr string) error
}

// ThisMachine is the one that the program runs on.
func ThisMachine() *Machine {
	return &Machine{
		GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Getenv: os.Getenv, Now: time.Now, Self: os.Getpid(),
		Free: install.Free, Noexec: noexec, Writable: writable, AVX: hasAVX,
		Processes: agent.Census, Kill: agent.Seen.Kill, LookPath: lookPath,
		Dial: func(ctx context.Context, addr string) error {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err == nil {
				c.Close()
			}
			return err
		},
	}
}

// home is the user's home directory, "" where there is none.
func (m *Machine) home() string {
	if m.GOOS == "windows" {
		return m.Getenv("USERPROFILE")
	}
	return m.Getenv("HOME")
}

// temp is where temporary files go.
func (m *Machine) temp() string {
	names := []string{"TMPDIR"}
	if m.GOOS == "windows" {
		names = []string{"TMP", "TEMP", "USERPROFILE"}
	}
	for _, name := range names {
		if dir := m.Getenv(name); dir != "" {
			return dir
		}
	}
	return "/tmp"
}

func (m *Machine) system(path string) string { return filepath.Join(m.Root, path) }

// tilde shortens a path in the user's home.
func (m *Machine) tilde(path string) string {
	home := m.home()
	if home == "" || home == "/" {
		return path
	}
	if rest, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rest) {
		return filepath.Join("~", rest)
	}
	return path
}
