package rewrite

import (
	"bytes"
	"strings"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/flat"
	"acp-shim/internal/wire"
)

// turnChanges are what the rows may change that follow a turn.
var turnChanges = [][]string{
	{"params", "update", "content", "text"}, {"result", "_meta"}, {"error", "message"},
}

// FuzzTurn plays a turn of any updates to a client, and what the client got once more
// through another shim: each line is its agent's but for what the table says, none
// comes that the agent has not said, and the second shim finds nothing to change.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(chunkLine("Agent execution error: could not find doneCh for checkpoint")+"\n"+chunkLine("context canceledThe request was canceled by the client.")), ended)
	f.Add([]byte(nil), ended)
	f.Add([]byte(chunkLine("Usage Limit Reached \U0001f600")), `{"stopReason":"end_turn","_meta":null}`)
	var lines [][]byte
	for _, line := range seeds.Frames() {
		m := fresh(line)
		if m.Method == methodUpdate {
			lines = append(lines, bytes.ReplaceAll(line, m.Text(m.SessionText), []byte(`"s1"`)))
		}
	}
	for i := 0; i < len(lines); i += 8 {
		f.Add(bytes.Join(lines[i:min(i+8, len(lines))], []byte("\n")), []string{ended, `{"stopReason":"cancelled"}`, `{"_meta":{"a":1},"stopReason":"end_turn"}`}[i/8%3])
	}
	f.Fuzz(func(t *testing.T, said []byte, end string) {
		var updates []string
		for line := range bytes.Lines(said) {
			line = bytes.TrimRight(line, "\r\n")
			// Of this turn's session; what else an agent may say is for others to test.
			if m := fresh(line); m.Kind == wire.Notification && m.Method == methodUpdate && string(m.Session) == "s1" && m.Object() {
				updates = append(updates, string(line))
			}
		}
		if len(updates) == 0 && len(said) > 0 {
			return // a turn of nothing is played for an input of nothing
		}
		if strings.ContainsAny(end, "\r\n") || !wire.Valid([]byte(end)) {
			return
		}
		once := received(t, playing(t, end, updates...), newRewriter(t))
		result := once[len(once)-1]
		want := append(updates, `{"jsonrpc":"2.0","id":2,"result":`+end+`}`)
		for _, got := range once {
			for len(want) > 0 && flat.Beside([]byte(want[0]), []byte(got), turnChanges...) != "" {
				want = want[1:] // it was dropped
			}
			if len(want) == 0 {
				t.Fatalf("%q is not of what was said: %q and %q", got, updates, end)
			}
			want = want[1:]
		}
		if strings.Join(once, "\n") == strings.Join(append(updates, `{"jsonrpc":"2.0","id":2,"result":`+end+`}`), "\n") {
			return
		}
		m := fresh([]byte(result))
		twice := received(t, playing(t, string(m.Text(m.Result)), once[:len(once)-1]...), newRewriter(t))
		if a, b := strings.Join(once, "\n"), strings.Join(twice, "\n"); a != b {
			t.Fatalf("%q became\n%s\nand then\n%s", updates, a, b)
		}
	})
}
