package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"acp-shim/fixtures"
	"acp-shim/record"
	"acp-shim/replay"
)

// TestReplayOutside tests a client of this program's, without an agent or a process:
// it opens a session in a directory of its own, and sees what the recorded client
// saw.
func TestReplayOutside(t *testing.T) {
	b, err := fixtures.Captures.ReadFile("captures/demo-1.3.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var missed []string
	script, err := replay.New(record.Read(bytes.NewReader(b)), replay.Options{Missed: func(m replay.Miss) { missed = append(missed, m.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	if dirs := script.Directories(); len(dirs) != 1 || dirs[0] != "/tmp/demo" {
		t.Errorf("the directories are %q", dirs)
	}
	agent := script.Agent()
	defer agent.Close()
	c := &talk{t, agent, bufio.NewReader(agent)}

	c.call("hello", `"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}}`)
	id := c.call("new", `"method":"session/new","params":{"cwd":"/tmp"}`).Result.SessionID
	f := c.call("prompt", `"method":"session/prompt","params":{"sessionId":"`+id+`","prompt":[{"type":"text","text":"config"}]}`)
	if f.Result.StopReason != "end_turn" {
		t.Errorf("the turn ended %+v", f)
	}
	if len(missed) > 0 {
		t.Errorf("like none were %q", missed)
	}
	f = c.call("another", `"method":"session/prompt","params":{"sessionId":"`+id+`","prompt":[{"type":"text","text":"configure"}]}`)
	var failure struct {
		Code int
		Data replay.Miss
	}
	if err := json.Unmarshal(f.Error, &failure); err != nil || failure.Code != -32603 || failure.Data.Method != "session/prompt" || len(failure.Data.Differs) == 0 {
		t.Errorf("%s, %v", f.Error, err)
	}
	if len(missed) != 1 || agent.Misses() != 1 {
		t.Errorf("like none were %q", missed)
	}
}

// TestDriveOutside drives an agent of this program's with the recorded client: here
// the recorded agent, of the other side of the shim.
func TestDriveOutside(t *testing.T) {
	path := filepath.Join("..", "..", "fixtures", "captures", "demo-1.3.0.jsonl")
	script, err := replay.Open(path, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	agent := script.Agent()
	var sent []string
	sum, err := script.Drive(t.Context(), agent.Stdin(), agent, replay.DriveOptions{Cwd: t.TempDir(), Frame: func(fromClient bool, line []byte) {
		if fromClient {
			sent = append(sent, string(line))
		}
	}})
	if err != nil || sum.Answered != sum.Requests || sum.Sent != len(sent) || len(sent) == 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	if all := strings.Join(sent, ""); strings.Contains(all, "/tmp/demo") {
		t.Errorf("the recorded directory was sent: %s", all)
	}
}
