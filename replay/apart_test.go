package replay_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"acp-shim/replay"
)

// TestDirectoriesTellSessionsApart: where a redactor has taken what differed else, the
// directory says which of two recorded sessions is opened, in whatever order.
func TestDirectoriesTellSessionsApart(t *testing.T) {
	text := `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}` + "\n"
	seq := 0
	line := func(from, to, frame string) {
		seq++
		text += fmt.Sprintf(`{"seq":%d,"t":%d,"from":%q,"to":%q,"frame":%s}`+"\n", seq, seq, from, to, frame)
	}
	open := func(id int, cwd, token string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":%q,"mcpServers":[{"name":"z","command":"c","args":[],"env":[{"name":"TOKEN","value":%q}]}]}}`, id, cwd, token)
	}
	for n, cwd := range []string{"/one", "/two"} {
		line("client", "agent#1", open(n, cwd, "[redacted]"))
		line("agent#1", "client", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"sessionId":"session-of%s"}}`, n, cwd))
	}
	script, err := replay.Parse(strings.NewReader(text), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	agent := script.Agent()
	defer agent.Close()
	answers := bufio.NewReader(agent)
	for n, cwd := range []string{"/two", "/one"} {
		if _, err := fmt.Fprintln(agent, open(10+n, cwd, "another")); err != nil {
			t.Fatal(err)
		}
		got, err := answers.ReadString('\n')
		if err != nil || !strings.Contains(got, `"session-of`+cwd+`"`) {
			t.Errorf("%s is answered %q, %v", cwd, got, err)
		}
	}
}
