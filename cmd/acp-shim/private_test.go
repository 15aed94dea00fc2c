//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func init() { plays["environ"] = environ }

// environ is an agent that writes its environment into a file and ends: environ FILE.
func environ(args []string) int {
	if os.WriteFile(args[0], []byte(strings.Join(os.Environ(), "\n")), 0o600) != nil {
		return 1
	}
	return 0
}

// TestPrivateFiles: whatever a run leaves is the user's alone, also where the umask
// leaves everything to everybody.
func TestPrivateFiles(t *testing.T) {
	s := newStage(t)
	before := map[string]bool{}
	walkAll(t, s, func(path string, _ fs.FileInfo) { before[path] = true })
	c := s.start(append([]string{"/bin/sh", "-c", `umask 0; exec "$@"`, "sh", s.shim, "--record=captures/", "--record-rotate-size=1", "--cancel-grace=100ms", "--"}, s.sim("1.2.1")...))
	c.call("initialize", `{"protocolVersion":1}`)
	session := c.call("session/new", `{"cwd":"/","mcpServers":[]}`).Get("result.sessionId").Str
	c.call("session/set_mode", `{"sessionId":"`+session+`","modeId":"yolo"}`)
	c.call("session/prompt", `{"sessionId":"`+session+`","prompt":[{"type":"text","text":"flood 4000"}]}`)
	c.end()
	kinds := map[string]bool{}
	walkAll(t, s, func(path string, info fs.FileInfo) {
		rel, _ := filepath.Rel(filepath.Dir(s.home), path)
		// The simulator's own files are as its server makes them.
		if before[path] || info.Mode()&fs.ModeSymlink != 0 || strings.Contains(path, ".gemini") || path == filepath.Join(s.home, ".local") || path == filepath.Join(s.home, ".local", "state") {
			return
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v", rel, info.Mode())
		}
		for _, kind := range []string{"captures", "sessions", "logs", "usage"} {
			kinds[kind] = kinds[kind] || strings.Contains(path, kind)
		}
	})
	if len(kinds) != 4 || !kinds["captures"] || !kinds["sessions"] || !kinds["logs"] {
		t.Errorf("too little was written to say anything: %v", kinds)
	}
}

func walkAll(t *testing.T, s *stage, f func(path string, info fs.FileInfo)) {
	t.Helper()
	for _, dir := range []string{s.home, s.cwd} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil {
				f(path, info)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlanted: in a directory that others can write to, what they have put there is
// neither followed nor written to, and the traffic goes on.
func TestPlanted(t *testing.T) {
	s := newStage(t)
	shared, victim := filepath.Join(s.cwd, "shared"), filepath.Join(s.home, "victim")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(victim, []byte("precious"), 0o600))
	must(os.Mkdir(shared, 0o777))
	must(os.Chmod(shared, 0o777|os.ModeSticky))
	run := func(flags ...string) string {
		c := s.start(append(append([]string{s.shim}, append(flags, "--")...), s.sim("1.2.1")...))
		c.call("initialize", `{"protocolVersion":1}`)
		if got := c.call("session/new", `{"cwd":"/","mcpServers":[]}`); got.Get("result.sessionId").Str == "" {
			t.Errorf("%v: %s", flags, got.Raw)
		}
		c.end()
		return c.errText()
	}
	if text := run("--state-dir=" + shared); !strings.Contains(text, "everybody can put files into") {
		t.Errorf("a state directory for everybody: %q", text)
	}
	if list, err := os.ReadDir(shared); err != nil || len(list) > 0 {
		t.Errorf("something is kept there: %v, %v", list, err)
	}
	must(os.Symlink(victim, filepath.Join(shared, "log")))
	must(os.Symlink(victim, filepath.Join(shared, "capture")))
	if os.Geteuid() == 0 {
		must(os.Lchown(filepath.Join(shared, "log"), 12345, -1))
	} else {
		must(os.Remove(filepath.Join(shared, "log"))) // only root can make one of another user's
	}
	run("--log-file="+filepath.Join(shared, "log"), "--record="+filepath.Join(shared, "capture"))
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("what a link leads to was written to: %q, %v", b, err)
	}
}

// TestEnvironment: the agent has the variables that the shim has, less those that hold
// the shim's own secrets, and what SECURITY.md names.
func TestEnvironment(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(s.cwd, "environment")
	given := append(slices.Clone(s.env), "PLAIN=1", "EMPTY=", "NEWLINE=a\tb", "LANG=C", "ACP_SHIM_CANCEL=native", "ACP_SHIM_BRIDGE_URL=http://127.0.0.1:9/", "TMPDIR="+s.home)
	for agent, added := range map[string]string{
		"other":              "[ACP_SHIM_DEPTH ACP_SHIM_PROC ACP_SHIM_RUN]",
		"agy_acp_server.par": "[ACP_SHIM_BROWSER_WAS ACP_SHIM_DEPTH ACP_SHIM_OPENED ACP_SHIM_PROC ACP_SHIM_RUN BROWSER PATH]",
	} {
		script := filepath.Join(s.home, "bin", agent)
		if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+s.shim+` environ "$@"`+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(s.shim, "--", script, file)
		cmd.Dir, cmd.Env = s.cwd, append(slices.Clone(given), "ACP_SHIM_BRIDGE_TOKEN=hunter2", "ACP_SHIM_MCP_HEADER=pi-bridge:K=hunter2")
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, path := map[string]bool{}, os.Getenv("PATH")
		for _, kv := range given {
			want[kv] = true
		}
		var more []string
		for _, kv := range strings.Split(string(b), "\n") {
			name, _, _ := strings.Cut(kv, "=")
			switch {
			case want[kv]:
				delete(want, kv)
			case name == "PATH" && strings.Contains(added, "PATH") && strings.HasSuffix(kv, ":"+path):
				delete(want, "PATH="+path)
				more = append(more, name)
			case name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_": // the script's shell's
			default:
				more = append(more, name)
			}
		}
		slices.Sort(more)
		if len(want) > 0 || strings.Contains(string(b), "hunter2") || fmt.Sprint(more) != added {
			t.Errorf("%s: it lacks or has otherwise %v, and has besides %v", agent, want, more)
		}
	}
}
