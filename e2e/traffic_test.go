//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"acp-shim/proxy"
	"acp-shim/record"
)

// Recorded conversations of editors and agents, played through the shim from
// both ends, must arrive at both ends byte for byte.

type transcriptLine struct {
	From string `json:"from"`
	Raw  string `json:"raw"`
}

// hostile is what no recording has: what is JSON-RPC in form only, and what is
// not that either.
func hostile() []transcriptLine {
	return []transcriptLine{
		{"client", `{"params":{"protocolVersion":1,"clientCapabilities":{}},"method":"initialize","jsonrpc":"2.0","id":0}`},
		{"agent", "  { \"id\" : 0 ,\t\"result\":{\"protocolVersion\":1,\"n\":1.0e+2,\"u\":\"\\u00e9\\/\"} , \"jsonrpc\":\"2.0\" }\r"},
		{"client", "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"method\":\"x\",\"params\":[1,2.50,-0]}\r"},
		{"agent", "no protocol at all \xff\xfe\x00"},
		{"agent", ""},
		{"agent", `{"jsonrpc":"2.0","id":"\u0061","error":{"code":-32000,"message":"a genuine one","data":null},"later":[{}]}`},
		{"client", `[{"jsonrpc":"2.0","id":7,"method":"a"},{"jsonrpc":"2.0","method":"b"}]`},
		{"agent", `[{"jsonrpc":"2.0","id":7,"result":1}]`},
		{"client", `{"jsonrpc":"2.0","id":12345678901234567890123,"id":8,"method":"twice","params":{"a":1,"a":2}}`},
		{"agent", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"a kind that is not known","x":"` + strings.Repeat("漢", 50000) + `"}}}`},
		{"agent", `{"jsonrpc":"2.0","id":8,"result":null}`},
		{"client", "{not JSON"},
		{"agent", `{"result":`},
	}
}

func transcripts(t *testing.T) map[string][]transcriptLine {
	t.Helper()
	all := map[string][]transcriptLine{"hostile": hostile()}
	// The recordings are kept beside the repository, not in it.
	files, _ := filepath.Glob("../../shared/traffic/*.jsonl")
	if len(files) == 0 {
		t.Log("there are no recordings beside the repository; only what is made up here is played")
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var lines []transcriptLine
		for text := range bytes.Lines(b) {
			var l transcriptLine
			if err := json.Unmarshal(text, &l); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			lines = append(lines, l)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = lines
	}
	return all
}

// play is one end of a transcript: it writes what is its own, cut at random,
// and compares what comes with what is the other's.
func play(lines []transcriptLine, me string, seed uint64, in io.Reader, out io.Writer) error {
	cuts := rand.New(rand.NewPCG(seed, uint64(len(me))))
	r := bufio.NewReader(in)
	for i, l := range lines {
		want := []byte(l.Raw + "\n")
		if l.From == me {
			for len(want) > 0 {
				n := 1 + cuts.IntN(len(want))
				if _, err := out.Write(want[:n]); err != nil {
					return fmt.Errorf("line %d: %w", i, err)
				}
				want = want[n:]
			}
			continue
		}
		got := make([]byte, len(want))
		if n, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("line %d: %v, got %q, want %q", i, err, got[:n], want)
		}
	}
	if c, ok := out.(io.Closer); ok && me == "client" {
		c.Close()
	}
	// What the agent has left without an answer gets one when it has ended, and
	// that is all that the shim says of its own.
	open := unanswered(lines)
	rest, err := io.ReadAll(r)
	for line := range bytes.Lines(rest) {
		var answer struct {
			ID    json.RawMessage
			Error struct{ Message string }
		}
		if json.Unmarshal(line, &answer) != nil || me != "client" || !open[string(answer.ID)] || !strings.HasPrefix(answer.Error.Message, "acp-shim: ") {
			return fmt.Errorf("after the last line came %q", line)
		}
		delete(open, string(answer.ID))
	}
	if me == "client" && len(open) > 0 {
		return fmt.Errorf("no answer came to %v", open)
	}
	return err
}

// unanswered are the ids of the client's requests that the agent does not
// answer.
func unanswered(lines []transcriptLine) map[string]bool {
	open := map[string]bool{}
	for _, l := range lines {
		var m struct {
			ID     json.RawMessage
			Method *string
		}
		switch {
		case json.Unmarshal([]byte(l.Raw), &m) != nil || m.ID == nil:
		case l.From == "client" && m.Method != nil:
			open[string(m.ID)] = true
		case l.From == "agent" && m.Method == nil:
			delete(open, string(m.ID))
		}
	}
	return open
}

// playsAgent makes the test binary the agent's end of a transcript.
const playsAgent = "E2E_PLAYS_AGENT"

func agentMain() int {
	var lines []transcriptLine
	b, err := os.ReadFile(os.Getenv(playsAgent))
	if err == nil {
		lines, err = fromBase64(b)
	}
	seed, _ := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64)
	if err == nil {
		err = play(lines, "agent", seed, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the agent's end:", err)
		return 1
	}
	return 0
}

// A transcript goes to the agent's end with its bytes kept: JSON strings would
// lose what is not UTF-8.
func toBase64(lines []transcriptLine) ([]byte, error) {
	type kept struct {
		From string
		Raw  []byte
	}
	var all []kept
	for _, l := range lines {
		all = append(all, kept{l.From, []byte(l.Raw)})
	}
	return json.Marshal(all)
}

func fromBase64(b []byte) (lines []transcriptLine, err error) {
	var all []struct {
		From string
		Raw  []byte
	}
	err = json.Unmarshal(b, &all)
	for _, l := range all {
		lines = append(lines, transcriptLine{l.From, string(l.Raw)})
	}
	return lines, err
}

func TestTrafficIsKept(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range transcripts(t) {
		for how, flags := range map[string][]string{"plain": nil, "recorded": {"--record-raw", "--record", "capture.jsonl"}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				file := filepath.Join(w.home, "transcript")
				b, err := toBase64(lines)
				if err == nil {
					err = os.WriteFile(file, b, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				w.env = append(w.env, playsAgent+"="+file, "E2E_SEED=0")
				for range 8 {
					seed := rand.Uint64()
					w.env[len(w.env)-1] = "E2E_SEED=" + strconv.FormatUint(seed, 10)
					w.playThrough(through([]string{self}, append([]string{"--profile", "none"}, flags...)...), lines, seed)
					if how == "recorded" {
						captured(t, filepath.Join(w.cwd, "capture.jsonl"), lines)
					}
				}
			})
		}
	}
}

// playThrough plays the client's end.
func (w *world) playThrough(argv []string, lines []transcriptLine, seed uint64) {
	w.t.Helper()
	cmd := w.command(argv)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdin, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	err = play(lines, "client", seed, stdout, stdin)
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended because of that
	}
	if ended := cmd.Wait(); err != nil || ended != nil || errs.Len() > 0 {
		w.t.Errorf("seed %d: the client's end: %v; the shim: %v, %s", seed, err, ended, errs.String())
	}
}

// captured finds a transcript in the capture that was made of it, and removes
// the capture.
func captured(t *testing.T, path string, lines []transcriptLine) {
	t.Helper()
	capture, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	defer capture.Close()
	got := map[string]string{}
	for e, err := range capture.Entries() {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Again: // it was held, and is there as it came
		case e.IsFrame() && e.From == proxy.Client:
			got["client"] += string(e.Received())
		case e.IsFrame() && e.From == proxy.AgentPeer(1):
			got["agent"] += string(e.Received())
		}
	}
	want := map[string]string{}
	for _, l := range lines {
		want[l.From] += l.Raw + "\n"
	}
	for end := range want {
		if got[end] != want[end] {
			t.Errorf("of the %s's end %d bytes were captured: %.300q, want %d: %.300q", end, len(got[end]), got[end], len(want[end]), want[end])
		}
	}
}
