//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-shim/fixtures/seeds"
	"acp-shim/proxy"
	"acp-shim/record"
)

func init() { plays["parrot"] = parrot }

// parrot is an agent that says what is in a file, in pieces of so many bytes, and
// keeps what it hears in another one: parrot SAY HEAR PIECE.
func parrot(args []string) int {
	say, err := os.ReadFile(args[0])
	heard, err2 := os.Create(args[1])
	var piece int
	_, err3 := fmt.Sscan(args[2], &piece)
	if errors.Join(err, err2, err3) != nil {
		return 2
	}
	over := make(chan error)
	go func() {
		_, err := io.Copy(heard, os.Stdin)
		over <- err
	}()
	if inPieces(os.Stdout, say, piece) != nil || <-over != nil {
		return 1
	}
	return 0
}

// inPieces writes b with a system call for every so many bytes.
func inPieces(w io.Writer, b []byte, piece int) error {
	for len(b) > 0 {
		n := min(piece, len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// shapes are lines that are hard on whoever takes them apart. None is a request, so
// that all there is to say about them is that they pass.
func shapes() (all []string) {
	million := 1_000_000
	if unhurried > 1 {
		million /= 10
	}
	notify := func(params string) string { return `{"jsonrpc":"2.0","method":"_x","params":` + params + `}` }
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"k%d":%d,`, i, i)
	}
	for _, line := range []string{
		// A batch is looked into for ids, with a limit of its own.
		`[` + strings.Repeat(`[`, million) + strings.Repeat(`]`, million) + `]`,
		notify(strings.Repeat(`[`, million) + strings.Repeat(`]`, million)),
		notify(strings.Repeat(`{"a":`, million/4) + `1` + strings.Repeat(`}`, million/4)),
		notify(strings.Repeat(`[`, million)), // never closed
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":` + strings.Repeat(`[{"a":`, million/10) + `1` + strings.Repeat(`}]`, million/10) + `}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat(`{\"a\":[`, million/8) + `"}}}}`,
		notify(strings.Repeat("9", 100_000) + "." + strings.Repeat("0", 100_000) + "e-" + strings.Repeat("1", 1000)),
		notify(`{` + strings.TrimSuffix(keys.String(), ",") + `}`),
		notify(`{"` + strings.Repeat("key", million/3) + `":1,"` + strings.Repeat(`\u006b`, million/60) + `":2}`),
		strings.Repeat(" \t\r", million/30), strings.Repeat(" ", million/10) + notify(`{}`) + strings.Repeat("\t", million/10),
	} {
		all = append(all, line+"\n")
	}
	for _, line := range seeds.Odd() {
		// What would be a request, or the answer to one, is for other tests.
		line = strings.ReplaceAll(strings.ReplaceAll(line, `"id"`, `"Id"`), `"\u0069d"`, `"I\u0064"`)
		all = append(all, line+"\n", line+"\r\n")
	}
	return append(all, `{"jsonrpc":"2.0","method":"_last","params":"no line end"}`)
}

// TestShapes sends all shapes both ways through the program: every byte arrives, the
// capture has each of them, and every command that reads captures comes to an end
// with it.
func TestShapes(t *testing.T) {
	s := newStage(t)
	list := shapes()
	sent := []byte(strings.Join(list, ""))
	// What the agent says is less, for the commands below to be quick.
	said := []byte(notified("_first") + list[1] + smaller(list, 1<<20))
	capture := filepath.Join(s.cwd, "shapes.jsonl")
	through(t, s, sent, said, 64<<10, "--record="+capture, "--record-raw", "--record-max-blob=0")
	file, err := record.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	var fromClient, fromAgent bytes.Buffer
	for e, err := range file.Entries() {
		switch {
		case err != nil:
			t.Fatal(err)
		case !e.IsFrame() || e.Again: // it was held until the agent had started
		case e.From == proxy.Client:
			fromClient.Write(e.Received())
		case e.From == proxy.AgentPeer(1):
			fromAgent.Write(e.Received())
		}
	}
	file.Close()
	same(t, "what the capture has of the client's", fromClient.Bytes(), sent)
	same(t, "what the capture has of the agent's", fromAgent.Bytes(), said)
	commands := []string{
		"show --full shapes.jsonl", "show --json shapes.jsonl", "stats shapes.jsonl", "validate shapes.jsonl", "search text .",
		"view --output page.html shapes.jsonl", "redact --output clean.jsonl shapes.jsonl", "diff shapes.jsonl clean.jsonl", "usage shapes.jsonl",
		"export --format jsonl --output plain.jsonl shapes.jsonl", "export --format md shapes.jsonl", "export --format jsons shapes.jsonl",
		"export --format acp-inspector shapes.jsonl", "export --format otlp --content shapes.jsonl", "import --output again.jsonl plain.jsonl", "replay shapes.jsonl",
	}
	if unhurried > 1 {
		commands = commands[4:7] // the others run with the race detector in tests of their own
	}
	for _, command := range commands {
		cmd := exec.Command(s.shim, strings.Fields(command)...)
		cmd.Dir, cmd.Env = s.cwd, s.env
		cmd.Stdin = bytes.NewReader(sent)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		start := time.Now()
		late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		err := cmd.Run()
		late.Stop()
		t.Logf("%s: %v, %v", command, time.Since(start).Round(time.Millisecond), err)
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 || strings.Contains(stderr.String(), "goroutine ") {
			t.Errorf("%s: %v: %.2000s", command, err, stderr.String())
		}
	}
}

// TestShapesInPieces: the small ones, a byte at a time on both ways, and redacted.
func TestShapesInPieces(t *testing.T) {
	s := newStage(t)
	small := smaller(shapes(), 4096)
	through(t, s, []byte(small), []byte(notified("_first")+small), 1, "--record="+filepath.Join(s.cwd, "captures")+"/")
}

// smaller are the lines below a size.
func smaller(list []string, size int) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(list), func(line string) bool { return len(line) >= size }), "")
}

func notified(method string) string { return `{"jsonrpc":"2.0","method":"` + method + `"}` + "\n" }

// through sends bytes both ways through a plain relay and compares what arrives.
func through(t *testing.T, s *stage, sent, said []byte, piece int, flags ...string) {
	t.Helper()
	say, heard := filepath.Join(s.cwd, "said"), filepath.Join(s.cwd, "heard")
	script := filepath.Join(s.home, "bin", "parrot")
	for name, text := range map[string][]byte{say: said, script: []byte("#!/bin/sh\nexec " + s.shim + ` parrot "$@"` + "\n")} {
		if err := os.WriteFile(name, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(s.shim, append(append([]string{"--profile=none"}, flags...), "--", script, say, heard, fmt.Sprint(piece))...)
	cmd.Dir, cmd.Env = s.cwd, s.env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := inPieces(in, sent, piece); err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	same(t, "what the client got", out.Bytes(), said)
	got, err := os.ReadFile(heard)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "what the agent got", got, sent)
}

// same tells where two streams part.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-60)
	t.Errorf("%s: %d bytes of %d; from %d on\n%q, not\n%q", what, len(got), len(want), from, got[from:min(len(got), at+200)], want[from:min(len(want), at+200)])
}
