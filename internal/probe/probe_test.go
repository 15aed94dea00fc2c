package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"acp-shim/fixtures/sim"
	"acp-shim/internal/agent"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sim":
			os.Exit(sim.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case "fake":
			os.Exit(fake(os.Args[2], os.Args[3:]...))
		case "mcp":
			if err := ServeStdio(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	// The SDK's server of HTTP keeps a session open that its client has left.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// options are those of a live probe of one of the test binary's own agents.
func options(t *testing.T, args ...string) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	opt := Options{
		Path: exe, Args: args, ExtraEnv: []string{"GEMINI_HOME=" + home, "GORACE=atexit_sleep_ms=0"}, RunID: agent.NewRunID(),
		Jobs: 2, Timeout: 20 * time.Second, Turn: 20 * time.Second, Cancel: 1500 * time.Millisecond, Tool: 5 * time.Second, Live: true,
		Stdio: []string{exe, "mcp"},
	}
	t.Cleanup(func() {
		// Whatever came of it, nothing of it runs any more.
		for gen := range 100 {
			if list, _ := family(opt.RunID, gen, 0); len(list) > 0 {
				t.Errorf("left behind: %v", list)
			}
		}
	})
	return opt
}

func simulated(t *testing.T, args ...string) Options {
	return options(t, append([]string{"sim"}, args...)...)
}

func probed(t *testing.T, opt Options) *Report {
	t.Helper()
	r, err := Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBuilds holds what is found of the simulator's builds against a table.
func TestBuilds(t *testing.T) {
	builds := []string{"rc01", "1.1.1", "1.2.1", "1.3.0"}
	found := make([]*Report, len(builds))
	t.Run("all", func(t *testing.T) {
		for i, b := range builds {
			t.Run(b, func(t *testing.T) {
				t.Parallel()
				opt := simulated(t, "--build", b)
				r := probed(t, opt)
				found[i] = r
				if len(r.Left) > 0 {
					t.Errorf("conversations are left: %v", r.Left)
				}
				home := strings.TrimPrefix(opt.ExtraEnv[0], "GEMINI_HOME=")
				if left, _ := filepath.Glob(filepath.Join(home, "antigravity-acp", "conversations", "*.db")); len(left) > 0 {
					t.Errorf("conversations are left: %v", left)
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	var got strings.Builder
	fmt.Fprintf(&got, "%-18s", "gate")
	for _, b := range builds {
		fmt.Fprintf(&got, " %-8s", b)
	}
	for i, g := range found[0].Gates {
		fmt.Fprintf(&got, "\n%-18s", g.ID)
		for _, r := range found {
			fmt.Fprintf(&got, " %-8s", r.Gates[i].Verdict)
		}
	}
	compareGolden(t, "builds.txt", got.String()+"\n")
	var figures strings.Builder
	for _, g := range found[3].Gates {
		// What differs from machine to machine is told in times and sizes.
		if g.ID != "E.memory" && g.ID != "lines" && g.ID != "term" {
			fmt.Fprintf(&figures, "%s: %s\n", g.ID, g.Figure)
		}
	}
	compareGolden(t, "figures-1.3.0.txt", regexp.MustCompile(`(less than )?[0-9]+(\.[0-9])? s\b`).ReplaceAllString(figures.String(), "TIME"))
	for i, g := range found[0].Gates {
		if len(g.Proofs) == 0 && g.Verdict != NotRun && g.ID != "client.none" && g.ID != "stdout" && !(g.ID == "B" && g.Verdict == Fallback) {
			t.Errorf("%s has no proof", found[0].Gates[i].ID)
		}
	}
}

// compareGolden compares lines.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			w := ""
			if i < len(want) {
				w = want[i]
			}
			t.Errorf("%s, line %d is\n%s\nwant\n%s", name, i+1, line, w)
		}
	}
}
