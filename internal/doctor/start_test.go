package doctor

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/agent"
)

// plays makes the agent this test binary, with these words.
func (w *ward) plays(words ...string) {
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	w.Find = func() (agent.Found, error) {
		return agent.Found{Path: exe, Args: words, Source: "a test"}, nil
	}
}

// starts looks with a handshake that is real.
func (w *ward) starts() []Finding {
	w.t.Helper()
	var told []Finding
	all := New(w.Machine, w.Subject).Run(context.Background(), func(f Finding) { told = append(told, f) })
	if len(told) != len(all) {
		w.t.Errorf("%d of %d findings were told", len(told), len(all))
	}
	return all
}

func of(all []Finding, check string) Finding {
	for _, f := range all {
		if f.Check == check {
			return f
		}
	}
	return Finding{}
}

func TestARealStart(t *testing.T) {
	w := newWard(t)
	w.plays("sim", "--build", "1.3.0")
	w.Session = true
	all := w.starts()
	for _, f := range all {
		if f.Level == Problem {
			t.Errorf("%+v", f)
		}
	}
	if f := of(all, "handshake"); f.Level != OK || !strings.Contains(f.Text, "oauth-business") {
		t.Errorf("%+v", f)
	}
	if f := of(all, "build"); !strings.Contains(f.Text, "antigravity-acp 1.3.0") {
		t.Errorf("%+v", f)
	}
	if f := of(all, "session"); f.Level != OK {
		t.Errorf("%+v", f)
	}
}

func TestWithoutALogin(t *testing.T) {
	w := newWard(t)
	w.plays("sim", "--login", "none")
	w.Session = true
	if f := of(w.starts(), "session"); f.Level != Problem || !strings.Contains(f.Remedy, "acp-shim login") {
		t.Errorf("%+v", f)
	}
}

func TestStartsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		words    []string
		arch     string
		patience time.Duration
		text     string
		detail   string
	}{
		"it dies":           {[]string{"dies", "a last word"}, "amd64", 0, "exited with code 3", "a last word"},
		"TCMalloc on arm64": {[]string{"dies", "MmapAligned() failed - unable to allocate with tag; TCMalloc assumes"}, "arm64", 0, "TCMalloc fault", "MmapAligned"},
		"it says nothing":   {[]string{"silent"}, "amd64", 300 * time.Millisecond, "did not answer initialize within", ""},
		"it says too much":  {[]string{"floods"}, "amd64", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.plays(c.words...)
			w.GOARCH, w.Patience = c.arch, c.patience
			f := of(w.starts(), "handshake")
			if f.Level != Problem || !strings.Contains(f.Text, c.text) || !strings.Contains(strings.Join(f.Details, "\n"), c.detail) || f.Remedy == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Where the processor lacks what the agent needs, it is not started at all.
func TestNoAVXIsNoStart(t *testing.T) {
	w := newWard(t)
	w.file("root/proc/cpuinfo", "flags : fpu\n", 0o644)
	w.Spec = func(agent.Found) agent.Spec {
		t.Error("it was started")
		return agent.Spec{}
	}
	if f := of(w.starts(), "processor"); f.Level != Problem {
		t.Errorf("%+v", f)
	}
}

func TestThisMachine(t *testing.T) {
	m := ThisMachine()
	dir := t.TempDir()
	if free, err := m.Free(dir); err != nil || free == 0 {
		t.Error(free, err)
	}
	if !m.Writable(dir) {
		t.Error("a new directory is not writable")
	}
	list, err := m.Processes()
	if err != nil {
		t.Skip(err)
	}
	for _, p := range list {
		if p.PID == os.Getpid() && p.PPID == os.Getppid() && p.Name != "" {
			return
		}
	}
	t.Error("this process is not among those of the system")
}
