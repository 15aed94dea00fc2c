package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"acp-shim/fixtures/sim"
	"acp-shim/internal/agent"
)

// The test binary plays agents: the simulated one, and some that do not start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sim":
			os.Exit(sim.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case "dies":
			os.Stderr.WriteString(strings.Join(os.Args[2:], " ") + "\n")
			os.Exit(3)
		case "floods":
			for {
				if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<20) + "\n"); err != nil {
					os.Exit(0)
				}
			}
		case "silent":
			os.Stdin.Read(make([]byte, 1<<20))
			select {}
		}
	}
	goleak.VerifyTestMain(m)
}

// ward is a machine on which all is well, and its parts, to be broken.
type ward struct {
	*Exam
	t    *testing.T
	dir  string
	env  map[string]string
	seen []agent.Seen
	// killed are the processes that were ended.
	killed []int
	free   uint64
	noexec bool
	closed map[string]bool // directories that cannot be written
	avx    bool
	deaf   error // what Dial fails with
	hs     *handshake
}

func newWard(t *testing.T) *ward {
	t.Helper()
	w := &ward{t: t, dir: t.TempDir(), free: 10 << 30, avx: true, closed: map[string]bool{},
		seen: []agent.Seen{{PID: 1, Name: "systemd"}, {PID: 100, PPID: 1, Name: "acp-shim"}}}
	w.hs = &handshake{took: time.Second, result: gjson.Parse(`{"protocolVersion":1,"agentInfo":{"name":"antigravity-acp","version":"1.3.0"},"authMethods":[{"id":"oauth-personal"}]}`)}
	w.env = map[string]string{"HOME": w.path("home"), "USERPROFILE": w.path("home"), "TMPDIR": w.path("tmp"), "TEMP": w.path("tmp")}
	w.file("opt/agy-acp/1.3.0/agy_acp_server.par", "", 0o755)
	w.file("opt/agy-acp/1.3.0/localharness_external", "", 0o755)
	w.file("opt/agy-acp/1.3.0/zip.sha256", strings.Repeat("ab", 32)+"  x.zip\n", 0o644)
	w.file("home/.gemini/antigravity-acp/settings.json", `{"auth":{"type":"oauth-personal"}}`, 0o644)
	w.file("home/.gemini/antigravity-acp/acp_token.json", "secret", 0o600)
	w.file("home/.config/zed/settings.json", `{"agent_servers":{"agy":{"command":"acp-shim"}}}`, 0o600)
	w.file("bin/acp-shim", "", 0o755)
	w.file("root/etc/group", "root:x:0:\nnobody:x:65534:\n", 0o644)
	w.file("root/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse avx avx2\n", 0o644)
	for _, d := range []string{"tmp", "home/state/logs", "captures"} {
		w.mkdir(d)
	}
	m := &Machine{
		GOOS: "linux", GOARCH: "amd64", Root: w.path("root"), Self: 100, Now: time.Now,
		Getenv:   func(name string) string { return w.env[name] },
		Free:     func(string) (uint64, error) { return w.free, nil },
		Noexec:   func(string) bool { return w.noexec },
		Writable: func(dir string) bool { return !w.closed[dir] },
		AVX:      func() bool { return w.avx },
		Processes: func() ([]agent.Seen, error) {
			if w.seen == nil {
				return nil, errors.ErrUnsupported
			}
			return w.seen, nil
		},
		Kill: func(p agent.Seen) { w.killed = append(w.killed, p.PID) },
		LookPath: func(name string) (string, error) {
			if name == "acp-shim" {
				name = w.path("bin/acp-shim")
			}
			_, err := os.Stat(name)
			return name, err
		},
		Dial: func(context.Context, string) error { return w.deaf },
	}
	s := &Subject{
		Version: "1", Exe: w.path("bin/acp-shim"), StateDir: w.path("home/state"), LogFile: w.path("home/state/logs/acp-shim.log"),
		Find: func() (agent.Found, error) {
			return agent.Found{Path: w.path("opt/agy-acp/1.3.0/agy_acp_server.par"), Args: []string{"--uid="}, IsAgy: true, Source: "PATH"}, nil
		},
		Spec: func(f agent.Found) agent.Spec {
			return agent.Spec{Path: f.Path, Args: f.Args, RunID: agent.NewRunID(), ExtraEnv: []string{"GEMINI_HOME=" + w.path("sim")}}
		},
	}
	os.Chmod(s.StateDir, 0o700)
	w.Exam = &Exam{Machine: m, Subject: s}
	return w
}

func (w *ward) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *ward) mkdir(name string) string {
	w.t.Helper()
	if err := os.MkdirAll(w.path(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w *ward) file(name, text string, mode os.FileMode) string {
	w.t.Helper()
	w.mkdir(filepath.ToSlash(filepath.Dir(name)))
	if err := os.WriteFile(w.path(name), []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(w.path(name), mode); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w *ward) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// aged makes a directory that nobody has touched for a time.
func (w *ward) aged(name string, by time.Duration) string {
	w.t.Helper()
	dir := w.mkdir(name)
	at := time.Now().Add(-by)
	if err := os.Chtimes(dir, at, at); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// look carries out one check.
func (w *ward) look(name string) []Finding {
	w.t.Helper()
	x := New(w.Machine, w.Subject)
	x.handshake = func() *handshake { return w.hs }
	for _, c := range Checks() {
		if c.Name == name {
			return c.run(x)
		}
	}
	w.t.Fatalf("there is no check %q", name)
	return nil
}
