package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDriveFixtures drives the recorded agent with the recorded client of the same
// capture: everything is answered, and both have said what they had.
func TestDriveFixtures(t *testing.T) {
	for name, b := range captures(t) {
		t.Run(name, func(t *testing.T) {
			s := parse(t, b, Options{})
			p := s.Agent()
			var got []recorded
			sum, err := s.Drive(t.Context(), p.Stdin(), p, DriveOptions{Frame: func(client bool, line []byte) {
				got = append(got, recorded{client, string(line)})
			}})
			if err != nil {
				t.Fatal(err)
			}
			for _, client := range []bool{true, false} {
				other := func(f recorded) bool { return f.client != client }
				was, is := slices.DeleteFunc(clientWire(t, b), other), slices.DeleteFunc(slices.Clone(got), other)
				if !slices.Equal(was, is) {
					t.Errorf("client %v: %d frames, want %d", client, len(is), len(was))
				}
			}
			if sum.Requests == 0 || sum.Answered != sum.Requests || len(sum.Unanswered) > 0 || sum.Failed > 0 || sum.Sent+sum.Received != len(got) {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// other is an agent that gives its sessions other names, asks for a permission
// under another id, and says what it is told to.
func other(t *testing.T, in io.Reader, out io.WriteCloser, say func(method string, params json.RawMessage, id string, send func(string))) {
	defer out.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID             json.RawMessage
			Method         string
			Params, Result json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Errorf("%q: %v", lines.Text(), err)
		}
		if m.Method == "" {
			m.Params = m.Result
		}
		say(m.Method, m.Params, string(m.ID), func(line string) { io.WriteString(out, line+"\n") })
	}
}

func TestDriveAnother(t *testing.T) {
	s := parse(t, capture("> "+initialize, "< "+hello, "> "+opening(1, "/home/dev"), "< "+opened(1, sessionA),
		"> "+prompt(2, sessionA, "do /home/dev/x"), "< "+permission(0, sessionA, "t"), "> "+allowed(0), "< "+chunk(sessionA, "1"), "< "+done(2),
		"> "+prompt(3, sessionA, "long"), "< "+chunk(sessionA, "1"), "< "+chunk(sessionA, "2"), "> "+cancelOf(sessionA), "< "+stopped(3, "cancelled"),
		`> {"id":4,"method":"session/set_mode","params":{"sessionId":"`+sessionA+`"}}`, `< {"id":4,"result":{}}`), Options{})
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	var log []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		other(t, fromClient, toClient, func(method string, params json.RawMessage, id string, send func(string)) {
			log = append(log, method+" "+string(params))
			answer := func(result string) { send(`{"id":` + id + `,"result":` + result + `}`) }
			switch {
			case method == "initialize":
				answer(`{}`)
			case method == "session/new":
				answer(`{"sessionId":"live-1"}`)
			case method == "session/prompt" && bytes.Contains(params, []byte("do ")):
				send(permission(41, "live-1", "another"))
			case id == "41":
				send(`{"id":42,"method":"fs/read_text_file","params":{"sessionId":"live-1","path":"/w/x"}}`)
			case id == "42":
				send(permission(43, "live-1", "and one more"))
				send(strings.Replace(permission(44, "live-1", "x"), `"Run"`, `"Something else"`, 1))
			case id == "44":
				send(done(2))
			case method == "session/prompt":
				send(chunk("live-1", "first"))
			case method == "session/cancel":
				send(stopped(3, "cancelled"))
			case method == "session/set_mode":
				send(`{"id":` + id + `,"error":{"code":-32601,"message":"no"}}`)
			}
		})
	}()
	sum, err := s.Drive(t.Context(), toAgent, fromAgent, DriveOptions{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	want := []string{
		`initialize {"protocolVersion":1}`,
		`session/new {"cwd":"/w","mcpServers":[]}`,
		`session/prompt {"sessionId":"live-1","prompt":[{"type":"text","text":"do /w/x"}]}`,
		` {"outcome":{"outcome":"selected","optionId":"allow"}}`,
		` `,
		` {"outcome":{"outcome":"selected","optionId":"allow"}}`,
		` {"outcome":{"outcome":"cancelled"}}`,
		`session/prompt {"sessionId":"live-1","prompt":[{"type":"text","text":"long"}]}`,
		`session/cancel {"sessionId":"live-1"}`,
		`session/set_mode {"sessionId":"live-1"}`,
	}
	if !slices.Equal(log, want) {
		t.Errorf("the agent was told\n%s", strings.Join(log, "\n"))
	}
	if sum.Requests != 5 || sum.Answered != 5 || sum.Failed != 1 || sum.Asked != 4 || sum.Unlike != 2 {
		t.Errorf("%+v", sum)
	}
}

// TestDriveHoldsAnswers: a permission that the recorded client gave after its cancel
// is not given before, and one that this agent does not offer not at all.
func TestDriveHoldsAnswers(t *testing.T) {
	for offered, want := range map[string]string{"allow": `"optionId":"allow"`, "other": `"outcome":"cancelled"`} {
		s := parse(t, capture("> "+prompt(2, "s", "do"), "< "+permission(0, "s", "t"), "> "+cancelOf("s"), "> "+allowed(0), "< "+done(2)), Options{})
		fromClient, toAgent := io.Pipe()
		fromAgent, toClient := io.Pipe()
		var log []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			other(t, fromClient, toClient, func(method string, params json.RawMessage, id string, send func(string)) {
				log = append(log, method+string(params))
				switch {
				case method == "session/prompt":
					send(strings.Replace(permission(0, "s", "t"), `"optionId":"allow"`, `"optionId":"`+offered+`"`, 1))
				case id == "0":
					send(done(2))
				}
			})
		}()
		if _, err := s.Drive(t.Context(), toAgent, fromAgent, DriveOptions{}); err != nil {
			t.Fatal(err)
		}
		<-ended
		// What was not recorded need not wait for anything.
		answer := map[string]int{"allow": 2, "other": 1}[offered]
		if len(log) != 3 || !strings.HasPrefix(log[3-answer], "session/cancel") || !strings.Contains(log[answer], want) {
			t.Errorf("offered %s, the agent was told\n%s", offered, strings.Join(log, "\n"))
		}
	}
}

// TestDriveGivesUp: an agent that says nothing, that ends, or that reads nothing.
func TestDriveGivesUp(t *testing.T) {
	b := capture("> "+initialize, "< "+hello, "> "+prompt(1, "s", "x"), "< "+done(1))
	for name, say := range map[string]string{"silent": "said nothing for 1m0s, and initialize of line 2 has no answer", "ended": "ended its output before the client's session/prompt of line 4 was due", "deaf": "writing to the agent"} {
		synctest.Test(t, func(t *testing.T) {
			s := parse(t, b, Options{})
			fromClient, toAgent := io.Pipe()
			fromAgent, toClient := io.Pipe()
			if name != "deaf" {
				go io.Copy(io.Discard, fromClient)
			}
			if name == "ended" {
				toClient.Close()
			}
			sum, err := s.Drive(t.Context(), toAgent, fromAgent, DriveOptions{})
			if err == nil || !strings.Contains(err.Error(), say) {
				t.Errorf("%s gives %v", name, err)
			}
			if name != "deaf" && (len(sum.Unanswered) != 1 || sum.Unanswered[0] != "initialize of line 2") {
				t.Errorf("%s: %+v", name, sum)
			}
			fromClient.Close()
		})
	}
}

func TestDriveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := parse(t, capture("> "+initialize, "< "+hello), Options{})
		fromClient, toAgent := io.Pipe()
		fromAgent, _ := io.Pipe()
		go io.Copy(io.Discard, fromClient)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Drive(ctx, toAgent, fromAgent, DriveOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestDriveNeedsAClient(t *testing.T) {
	p, err := parse(t, plainLines(hello), Options{}).Drive(t.Context(), nil, nil, DriveOptions{})
	if p != nil || err == nil {
		t.Errorf("%v, %v", p, err)
	}
}
