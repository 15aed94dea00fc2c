package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func plainLines(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// TestOneSide plays what an agent alone has said, as probes of a server have left
// it, to a client that asks for it.
func TestOneSide(t *testing.T) {
	commands := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + sessionA + `","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}`
	history := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + sessionA + `","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}}}`
	noCancel := `{"jsonrpc":"2.0","id":12,"error":{"code":-32601,"message":"Method not found","data":{"method":"session/cancel"}}}`
	b := plainLines("Please visit https://example.test/login", hello, opened(1, sessionA), commands,
		`{"jsonrpc":"2.0","id":2,"result":{"configOptions":[]}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`,
		chunk(sessionA, "one"), permission(0, sessionA, "t"), chunk(sessionA, "two"), done(4), commands,
		chunk(sessionA, "three"), done(5), noCancel,
		history, `{"jsonrpc":"2.0","id":13,"result":{"modes":{}}}`, `{"jsonrpc":"2.0","id":14,"result":{"sessions":[]}}`,
		`{"jsonrpc":"2.0","id":15,"error":{"code":-32000,"message":"Authentication required"}}`)
	conversation(t, parse(t, b, Options{}).Agent(), wireOf(
		"> "+initialize, "< Please visit https://example.test/login", "< "+hello,
		"> "+opening(1, "/w"), "< "+opened(1, sessionA), "< "+commands,
		`> {"id":7,"method":"session/set_config_option","params":{"sessionId":"`+sessionA+`"}}`, `< {"jsonrpc":"2.0","id":7,"result":{"configOptions":[]}}`,
		"> "+prompt(8, sessionA, "anything"), "< "+chunk(sessionA, "one"), "< "+permission(0, sessionA, "t"), "> "+allowed(0), "< "+chunk(sessionA, "two"), "< "+done(8), "< "+commands,
		`> {"id":9,"method":"session/set_mode","params":{"sessionId":"`+sessionA+`"}}`, `< {"jsonrpc":"2.0","id":9,"result":{}}`,
		`> {"id":10,"method":"session/cancel","params":{"sessionId":"`+sessionA+`"}}`, "< "+strings.Replace(noCancel, "12", "10", 1),
		"> "+prompt(11, sessionA, "more"), "< "+chunk(sessionA, "three"), "< "+done(11),
		"> "+loading(12, "mine", "/w"), "< "+strings.Replace(history, sessionA, "mine", 1), `< {"jsonrpc":"2.0","id":12,"result":{"modes":{}}}`,
		`> {"id":13,"method":"session/list"}`, `< {"jsonrpc":"2.0","id":13,"result":{"sessions":[]}}`,
		`> {"id":14,"method":"authenticate"}`, `< {"jsonrpc":"2.0","id":14,"error":{"code":-32000,"message":"Authentication required"}}`,
	))
}

// TestOneSideCutOff: a turn that has no end is played as far as it goes.
func TestOneSideCutOff(t *testing.T) {
	b := plainLines(opened(1, sessionA), chunk(sessionA, "one"))
	s := parse(t, append(b, `{"jsonrpc":"2.0","met`...), Options{})
	conversation(t, s.Agent(), wireOf("> "+opening(4, "/w"), "< "+opened(4, sessionA), "> "+prompt(5, sessionA, "x"), "< "+chunk(sessionA, "one"),
		`< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"acp-shim replay: the recording ends before the answer to session/prompt of line 2"}}`))
}

// TestBothSides plays lines of both sides without a word on who sent which.
func TestBothSides(t *testing.T) {
	for name, b := range captures(t) {
		list := clientWire(t, b)
		var plain []byte
		for _, f := range list {
			plain = append(plain, f.line...)
		}
		t.Run(name, func(t *testing.T) { conversation(t, parse(t, plain, Options{}).Agent(), list) })
	}
	lines := []string{"> " + prompt(0, "s", "do"), "< " + permission(0, "s", "t1"), "> " + allowed(0), "< " + done(0)}
	var plain []string
	for _, l := range lines {
		plain = append(plain, l[2:])
	}
	conversation(t, parse(t, plainLines(plain...), Options{}).Agent(), wireOf(lines...))
}

// TestTraffic plays handshakes of real agents to a client that waits for each
// answer, as the one that recorded them did not.
func TestTraffic(t *testing.T) {
	files, err := filepath.Glob("../../shared/traffic/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the recordings are kept beside the repository, and are not there")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var client, rest []string
			answers := map[string]string{}
			for line := range strings.Lines(string(b)) {
				var l struct{ From, Raw string }
				var m struct{ ID json.RawMessage }
				if err := errors.Join(json.Unmarshal([]byte(line), &l), json.Unmarshal([]byte(l.Raw), &m)); err != nil {
					t.Fatal(err)
				}
				switch {
				case l.From == "client":
					client = append(client, l.Raw)
				case m.ID != nil:
					answers[string(m.ID)] = l.Raw
				default:
					rest = append(rest, l.Raw)
				}
			}
			var list []recorded
			for i, c := range client {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				if err := json.Unmarshal([]byte(c), &m); err != nil {
					t.Fatal(err)
				}
				a, ok := answers[string(m.ID)]
				if !ok {
					a = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"acp-shim replay: the recording ends before the answer to %s of line %d"}}`, m.ID, m.Method, i+1)
				}
				list = append(list, recorded{true, c + "\n"}, recorded{false, a + "\n"})
				// What is said of its own accord is about the session that this opened.
				for strings.Contains(c, "session/new") && len(rest) > 0 {
					list = append(list, recorded{false, rest[0] + "\n"})
					rest = rest[1:]
				}
			}
			conversation(t, parse(t, b, Options{}).Agent(), list)

			// And of the agent's half alone: answers in the order of their ids.
			var half []string
			for line := range strings.Lines(string(b)) {
				var l struct{ From, Raw string }
				if err := json.Unmarshal([]byte(line), &l); err != nil {
					t.Fatal(err)
				}
				if l.From == "agent" {
					half = append(half, l.Raw)
				}
			}
			var answered []recorded
			for i, f := range list {
				if f.client && !strings.Contains(list[i+1].line, "recording ends") {
					answered = append(answered, f, list[i+1])
				}
			}
			p := parse(t, plainLines(half...), Options{}).Agent()
			for _, f := range answered {
				if f.client {
					p.Write([]byte(f.line))
				}
			}
			p.CloseWrite()
			var got strings.Builder
			buf := make([]byte, 1<<20)
			for {
				n, err := p.Read(buf)
				got.Write(buf[:n])
				if err != nil {
					break
				}
			}
			for _, f := range answered {
				if !f.client && !strings.Contains(got.String(), f.line) {
					t.Errorf("without the client's half the answer %s is not in\n%s", f.line, got.String())
				}
			}
		})
	}
}

func TestNoRecording(t *testing.T) {
	for _, text := range []string{"", "\n\n", "hello\n", "{}\n"} {
		_, err := Parse(strings.NewReader(text), Options{Damaged: func(error) {}})
		if !errors.Is(err, ErrNoRecording) {
			t.Errorf("%q gives %v", text, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there gives %v", err)
	}
}
