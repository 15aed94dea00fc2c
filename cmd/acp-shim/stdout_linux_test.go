package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFullDiskForAnAnswer: a command that cannot print what it was asked for says so,
// once, and fails. A table or a line that is printed without a look at the error is
// where this goes wrong.
func TestAFullDiskForAnAnswer(t *testing.T) {
	s := newStage(t)
	capture, err := filepath.Abs("../../fixtures/captures/demo-1.3.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here: ", err)
	}
	t.Cleanup(func() { full.Close() }) // not before the parallel rows
	for _, line := range []string{
		"version", "help", "--help", "help run", "help sim", "help login", "login --help", "completion bash", "completion fish",
		"status", "status --json", "config", "config --json", "config --schema", "sessions", "sessions --json", "usage", "agent list",
		"doctor", "doctor --json", "setup", "setup acpx", "probe --list",
		"show CAPTURE", "show --json CAPTURE", "stats CAPTURE", "stats --json CAPTURE", "validate CAPTURE", "search session CAPTURE",
		"diff CAPTURE CAPTURE", "redact -o - CAPTURE", "export --format jsonl -o - CAPTURE", "export --format md -o - CAPTURE", "view -o - CAPTURE",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.ReplaceAll(line, "CAPTURE", capture))
			var control, stderr bytes.Buffer
			cmd := exec.Command(s.shim, args...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.cwd, s.env, &control, &stderr
			cmd.Run() // what it says of itself is not asked here
			prints := control.Len() > 0
			before := strings.Count(stderr.String(), "\n")

			stderr.Reset()
			cmd = exec.Command(s.shim, args...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.cwd, s.env, full, &stderr
			cmd.Run()
			code, said := cmd.ProcessState.ExitCode(), stderr.String()
			if !prints {
				t.Fatalf("it prints nothing, so that this shows nothing: %s", said)
			}
			if code != 2 || strings.Count(said, "no space left on device") != 1 || strings.Count(said, "\n") > before+1 {
				t.Errorf("exit code %d, stderr %s", code, said)
			}
		})
	}
}
