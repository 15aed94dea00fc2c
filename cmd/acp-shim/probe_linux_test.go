//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestProbeEnded has a probe whose terminal is closed, or that is ended, leave
// nothing behind: no directory, and no conversation.
func TestProbeEnded(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s, temp := newStage(t), t.TempDir()
			home := filepath.Join(t.TempDir(), "gemini")
			// A turn that is not ended by itself, so that the signal meets it.
			args := append([]string{"probe", "--live", "--brief", "--gate", "D.tool", "--cancel-wait", "1m", "--capture", filepath.Join(temp, "c.jsonl"), "--"}, s.sim("rc01", "--cancel", "wedge")...)
			cmd := exec.Command(s.shim, args...)
			cmd.Env = append(slices.Clone(s.env), "TMPDIR="+temp, "GEMINI_HOME="+home)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				b, _ := os.ReadFile(filepath.Join(temp, "c.jsonl"))
				return strings.Contains(string(b), `"session/cancel"`)
			})
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "interrupted") {
				t.Errorf("%v, it said\n%s", err, out.String())
			}
			left, _ := filepath.Glob(filepath.Join(temp, "acp-shim-*"))
			made, _ := filepath.Glob(filepath.Join(home, "antigravity-acp", "conversations", "*.db"))
			if len(left)+len(made) > 0 {
				t.Errorf("left behind: %v %v", left, made)
			}
		})
	}
}
