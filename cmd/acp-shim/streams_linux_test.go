package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStreams gives the shim other things than pipes for its streams. What it was
// asked is answered wherever the answer can go, and it ends by itself.
func TestStreams(t *testing.T) {
	asked := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	for _, row := range []struct {
		name, in, out string
		closed        string // what a shell closes
		code          int
		stderr        string
		answers       int // -1 where nobody can see them
	}{
		{name: "files", in: "in", out: "out", answers: 1},
		{name: "nothing to read", in: os.DevNull, out: "out"},
		{name: "nobody to write to", in: "in", out: os.DevNull, answers: -1},
		{name: "a full disk", in: "in", out: "/dev/full", code: 74, stderr: "nothing can be written to the client any more", answers: -1},
		{name: "no stdin", in: os.DevNull, out: "out", closed: "0<&-"},
		{name: "no stdout", in: "in", out: os.DevNull, closed: "1>&-", answers: -1},
		{name: "no stderr", in: "in", out: "out", closed: "2>&-", answers: 1},
		{name: "no streams", in: os.DevNull, out: os.DevNull, closed: "0<&- 1>&- 2>&-", answers: -1},
		{name: "a directory", in: ".", out: "out", code: 74, stderr: "the client cannot be read any more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			at := func(name string) string {
				if filepath.IsAbs(name) {
					return name
				}
				return filepath.Join(s.cwd, name)
			}
			if err := os.WriteFile(at("in"), []byte(asked), 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(at(row.in))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := os.OpenFile(at(row.out), os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			argv := append([]string{"-c", `exec "$@" ` + row.closed, "sh", s.shim, "--"}, s.sim("1.1.1")...)
			cmd := exec.Command("/bin/sh", argv...)
			errs := filepath.Join(s.cwd, "err")
			stderr, err := os.Create(errs)
			if err != nil {
				t.Fatal(err)
			}
			defer stderr.Close()
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.cwd, s.env, in, out, stderr
			late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
			cmd.Run() // how it ended is asked of ProcessState
			if !late.Stop() {
				t.Fatal("it does not end")
			}
			said, _ := os.ReadFile(errs)
			if code := cmd.ProcessState.ExitCode(); code != row.code || !strings.Contains(string(said), row.stderr) || strings.Contains(string(said), "panic") {
				t.Errorf("exit code %d, stderr %s", code, said)
			}
			if got, _ := os.ReadFile(at("out")); row.answers >= 0 && bytes.Count(got, []byte(`"protocolVersion"`)) != row.answers {
				t.Errorf("stdout: %s", got)
			}
		})
	}
}
