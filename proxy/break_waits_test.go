package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatWaitsForAStart: noise, batches and answers to nothing have the same end as
// requests while a process starts.
func TestWhatWaitsForAStart(t *testing.T) {
	for name, line := range map[string]string{
		"noise":   strings.Repeat("x", 1<<20),
		"batch":   `[{"id":7,"method":"_x","params":"` + strings.Repeat("x", 1<<20) + `"}]`,
		"answer":  `{"id":9,"result":"` + strings.Repeat("x", 1<<20) + `"}`,
		"request": `{"id":7,"method":"_x","params":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		s := opened(t, Options{})
		s.core.gone(1, Exit{Words: "it was killed"})
		s.core.started(2, 200)
		s.core.heldSize += heldLimit - 3<<20 // as if much waited already
		for range 5 {
			s.client(line)
		}
		if size := s.core.heldSize; size > heldLimit || size < heldLimit-2<<20 {
			t.Errorf("%s: %d bytes wait", name, size)
		}
		if answers := strings.Contains(strings.Join(s.out, "\n"), heldText); answers != strings.Contains(line, `"id":7`) {
			t.Errorf("%s: that it was refused is answered: %v", name, answers)
		}
	}
}

// TestCancelOfInitialize: what all others wait for cannot be taken back before there is
// somebody to open the gate.
func TestCancelOfInitialize(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.client(initRequest)
	s.client(`{"method":"$/cancel_request","params":{"requestId":0}}`)
	s.client(`{"id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	s.didNot("client< ")
	s.core.started(1, 100)
	s.did("agent1< ", "initialize")
	s.agent(1, initResult)
	s.did("agent1< ", "session/new")
}

// TestCancelOfWhatTheGateHolds is carried out at once, and each frame that the gate held
// stands in a capture as received once.
func TestCancelOfWhatTheGateHolds(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.core.started(1, 100)
	s.client(initRequest)
	s.client(`{"id":2,"method":"session/prompt","params":{"sessionId":"a"}}`)
	s.out = nil
	s.client(`{"method":"$/cancel_request","params":{"requestId":2}}`)
	s.did("client< ", `"id":2`, "-32800")
	s.client(`{"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.client(`{"id":3,"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.client(`{"method":"$/cancel_request","params":{"requestId":77}}`)
	s.out = nil
	s.agent(1, initResult)
	s.didNot("session/prompt")
	received := map[string]int{}
	for _, f := range s.received {
		received[f]++
	}
	for f, n := range received {
		if n != 1 {
			t.Errorf("received %d times: %s", n, f)
		}
	}
	if len(received) != 6 {
		t.Errorf("%d frames were received: %q", len(received), s.received)
	}
}

// TestSettingsThatAreTooMuch are not kept, and one that was is forgotten.
func TestSettingsThatAreTooMuch(t *testing.T) {
	s := opened(t, Options{})
	set := func(id int, key, value string) {
		s.client(fmt.Sprintf(`{"id":%d,"method":"session/set_config_option","params":{"sessionId":"a","configId":"%s","value":"%s"}}`, id, key, value))
		s.agent(1, fmt.Sprintf(`{"id":%d,"result":{}}`, id))
	}
	a := s.core.sessions["a"]
	set(2, "model", "small")
	set(3, "model", strings.Repeat("x", settingLimit))
	if len(a.config) != 0 {
		t.Errorf("%d settings are kept", len(a.config))
	}
	for n := range settingsLimit + 10 {
		set(10+n, fmt.Sprint("k", n), "v")
	}
	if len(a.config) != settingsLimit {
		t.Errorf("%d settings are kept", len(a.config))
	}
}

// TestTheSessionThatSpokeLast is not taken for one that has its id after it.
func TestTheSessionThatSpokeLast(t *testing.T) {
	s := opened(t, Options{})
	update := `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"agent_message_chunk"}}}`
	s.agent(1, update)
	first := s.core.byAgentID([]byte("a"))
	if first == nil {
		t.Fatal("the session is not known")
	}
	s.client(`{"id":2,"method":"session/delete","params":{"sessionId":"a"}}`)
	s.agent(1, `{"id":2,"result":{}}`)
	s.agent(1, update)
	if x := s.core.byAgentID([]byte("a")); x != nil {
		t.Errorf("a session that is deleted speaks: %v", x.state)
	}
	s.client(`{"id":3,"method":"session/load","params":{"sessionId":"a","cwd":"/w","mcpServers":[]}}`)
	if x := s.core.byAgentID([]byte("a")); x == nil || x == first || x != s.core.sessions["a"] {
		t.Errorf("the one that is loaded is not found: %v", x)
	}
}
