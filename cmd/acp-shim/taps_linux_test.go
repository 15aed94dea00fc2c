package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"acp-shim/record"
)

// TestStrict fills the disk of a capture in the middle of a turn. Without
// --record-strict the turn ends as it would have, and the capture has a gap or an
// early end; with it the prompt is answered with an error, the shim says why, and
// its exit code is 74.
func TestStrict(t *testing.T) {
	for _, strict := range []bool{false, true} {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
			t.Skip("a disk cannot be mounted: ", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"--record=" + filepath.Join(dir, "c.jsonl")}
		if strict {
			args = append(args, "--record-strict")
		}
		home := t.TempDir()
		cmd := exec.Command(exe, append(args, "--", exe, "sim")...)
		cmd.Args[0] = "acp-shim"
		cmd.Env = append(os.Environ(), playsMain+"=1", "HOME="+home, "GEMINI_HOME="+filepath.Join(home, "gemini"), "XDG_STATE_HOME="+home)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		await := func(words ...string) string {
			for {
				line, err := lines.ReadString('\n')
				if all(line, words) {
					return line
				}
				if err != nil {
					t.Fatalf("strict %v: it ended without %q: %s", strict, words, stderr.String())
				}
			}
		}
		io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`+"\n")
		await(`"id":0`)
		io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`+"\n")
		_, id, _ := strings.Cut(await(`"id":1`), `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"`+id+`","prompt":[{"type":"text","text":"stream 1000 every 1ms"}]}}`+"\n")
		answer := await(`"id":2,`)
		in.Close()
		io.Copy(io.Discard, lines)
		err = cmd.Wait()
		var exit *exec.ExitError
		switch {
		case strict && (!strings.Contains(answer, `"error"`) || !errors.As(err, &exit) || exit.ExitCode() != exitUnrecorded):
			t.Errorf("strict: the prompt is answered %s, the end is %v", answer, err)
		case strict && !strings.Contains(stderr.String(), "since it cannot be recorded"):
			t.Errorf("strict: stderr says %s", stderr.String())
		case !strict && (!strings.Contains(answer, "end_turn") || err != nil):
			t.Errorf("the prompt is answered %s, the end is %v", answer, err)
		case !strict && !strings.Contains(stderr.String(), syscall.ENOSPC.Error()):
			t.Errorf("stderr says %s", stderr.String())
		}
		c, err := record.Open(filepath.Join(dir, "c.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Entries() {
			if err != nil {
				t.Errorf("strict %v: %v", strict, err)
			}
		}
		c.Close()
	}
}
