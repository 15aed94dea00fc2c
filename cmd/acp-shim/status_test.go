//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-shim/internal/status"
)

// shims asks acp-shim status.
func (s *stage) shims() []status.Shim {
	s.t.Helper()
	cmd := exec.Command(s.shim, "status", "--json")
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var list []status.Shim
	if err := json.Unmarshal(out, &list); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return list
}

// become waits until the status is as wanted.
func (s *stage) become(what string, wanted func([]status.Shim) bool) {
	s.t.Helper()
	for limit := time.Now().Add(patience); ; {
		list := s.shims()
		if wanted(list) {
			return
		}
		if time.Now().After(limit) {
			b, _ := json.Marshal(list)
			s.t.Fatalf("%s did not become so: %s", what, b)
		}
	}
}

// A cancel that is not honoured costs a process, and the session goes on in another
// one: the status says so. What a killed shim leaves is known for that, and removed.
func TestStatusOfKills(t *testing.T) {
	s := newStage(t)
	c := s.start(append([]string{s.shim, "--cancel-grace=300ms", "--"}, s.sim("1.1.1", "--cancel", "ignore")...))
	c.call("initialize", `{"protocolVersion":1,"clientInfo":{"name":"a test","version":"7"}}`)
	id := c.call("session/new", `{"cwd":"/","mcpServers":[]}`).Get("result.sessionId").Str
	c.call("session/prompt", asking(id, "hello"))
	for range 2 {
		from := c.count()
		p := c.request("session/prompt", asking(id, "stream 100000 every 2ms"))
		c.must(from, "a chunk", isUpdate("agent_message_chunk"))
		c.notify("session/cancel", `{"sessionId":"`+id+`"}`)
		c.answerTo(p)
	}
	c.call("session/prompt", asking(id, "hello"))
	s.become("the status", func(list []status.Shim) bool {
		return len(list) == 1 && list[0].Running && list[0].Status != nil && list[0].Status.Turns.Done == 4
	})
	now := s.shims()[0].Status
	if now.Cancel != (status.Cancel{State: status.Ignored, Late: 2}) || now.Turns.Cancelled != 2 || now.Client.Version != "7" {
		t.Errorf("%+v %+v", now.Cancel, now.Turns)
	}
	if now.Counts.Kills != 2 || now.Counts.Restores != 2 || now.Counts.Reconnects != 2 || now.Sessions[0].Reconnects != 2 || now.Counts.Crashes != 0 {
		t.Errorf("%+v %+v", now.Counts, now.Sessions)
	}
	if len(now.Events) == 0 || len(now.Events) > 20 || !now.Exclusive {
		t.Errorf("%+v", now)
	}
	files, _ := filepath.Glob(filepath.Join(s.home, ".local", "state", "acp-shim", "running", "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info, err)
		}
	}

	if err := syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.wait()
	if list := s.shims(); len(list) != 1 || list[0].Running || list[0].Status.PID != now.PID {
		t.Errorf("after the kill: %+v", list)
	}
	fix := exec.Command(s.shim, "doctor", "--fix")
	fix.Env = s.env
	if out, _ := fix.Output(); !strings.Contains(string(out), "1 shim was killed") { // no agent is there, and its exit code says so
		t.Errorf("%s", out)
	}
	if list := s.shims(); len(list) != 0 {
		t.Errorf("after doctor --fix: %+v", list)
	}
}

func asking(session, text string) string {
	return `{"sessionId":"` + session + `","prompt":[{"type":"text","text":"` + text + `"}]}`
}
