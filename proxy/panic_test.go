package proxy

import (
	"strings"
	"testing"
)

// voice says something of each frame, changes it, and perhaps panics then.
type voice struct {
	Base
	name   string
	panics bool
}

func (v *voice) FromClient(s *Step, m *Message) { v.speak(s, m) }
func (v *voice) FromAgent(s *Step, m *Message)  { v.speak(s, m) }

func (v *voice) speak(s *Step, m *Message) {
	if m.Method != "_x" {
		return
	}
	m.Add(m.Params, v.name, `1`)
	s.ToClient([]byte(`{"method":"_says","params":{"`+v.name+`":1}}`+"\n"), v.name)
	if v.panics {
		panic("for a test")
	}
}

type fatal struct{ voice }

func (*fatal) Fatal() {}

// TestPanicOfOne: what an interceptor has changed and said when it panics is dropped,
// and the others' is not, before it and behind it, in both directions.
func TestPanicOfOne(t *testing.T) {
	for _, up := range []bool{false, true} {
		s := opened(t, Options{Chain: []Interceptor{&voice{name: "a"}, &voice{name: "b", panics: true}, &voice{name: "c"}}})
		s.core.opt.Strict = false
		frame := `{"method":"_x","params":{"sessionId":"a"}}`
		order, to := []string{"a", "c"}, "agent1< "
		if up {
			s.agent(1, frame)
			order, to = []string{"c", "a"}, "client< "
		} else {
			s.client(frame)
		}
		s.expect(
			`client< {"method":"_says","params":{"`+order[0]+`":1}}`,
			`client< {"method":"_says","params":{"`+order[1]+`":1}}`,
			to+`{"method":"_x","params":{"sessionId":"a","`+order[0]+`":1,"`+order[1]+`":1}}`)
		if n := strings.Count(strings.Join(s.logs, "\n"), "an interceptor panicked"); n != 1 {
			t.Errorf("up %v: told %d times: %q", up, n, s.logs)
		}
		// The next frame is as if nothing had been.
		s.client(`{"method":"_y","params":{"sessionId":"a"}}`)
		s.expect(`agent1< {"method":"_y","params":{"sessionId":"a"}}`)
	}
}

// TestPanicOfAllThree leaves the frame as it came.
func TestPanicOfAllThree(t *testing.T) {
	s := opened(t, Options{Chain: []Interceptor{&voice{name: "a", panics: true}, &voice{name: "b", panics: true}, &voice{name: "c", panics: true}}})
	s.core.opt.Strict = false
	s.client(`{"method":"_x","params": {"sessionId":"a"}}`)
	s.expect(`agent1< {"method":"_x","params": {"sessionId":"a"}}`)
}

// TestPanicThatIsFatal ends the process that the frame belongs to.
func TestPanicThatIsFatal(t *testing.T) {
	s := opened(t, Options{Chain: []Interceptor{&fatal{voice{name: "a", panics: true}}}})
	s.core.opt.Strict = false
	s.client(`{"method":"_x","params":{"sessionId":"a"}}`)
	if a := s.core.agentOf(1); a == nil || a.state < condemned {
		t.Errorf("the process goes on: %v", s.out)
	}
}
