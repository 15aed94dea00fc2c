package proxy

import "testing"

// refusing answers every load and resume that carries its word.
type refusing struct{ Base }

func (refusing) FromClient(s *Step, m *Message) {
	if m.Method != mLoad && m.Method != mResume || s.Own() {
		return
	}
	if _, ok := m.At(m.Params, "refuse"); ok {
		s.Drop("refused")
		s.Answer(s.Request(), ErrorBody(-32602, "refused", nil), "refused")
	}
}

// A load that an interceptor answers opens nothing: neither does what comes after
// it wait for the agent's answer, nor is the session taken for open.
func TestLoadAnsweredOnItsWay(t *testing.T) {
	const (
		load    = `{"id":5,"method":"session/load","params":{"sessionId":"b","cwd":"/w","mcpServers":[]}}`
		refused = `{"id":4,"method":"session/load","params":{"sessionId":"b","refuse":1}}`
		answer  = `client< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"refused","data":null}}`
	)
	s := begun(t, Options{Chain: []Interceptor{refusing{}}})
	for range 2 {
		s.client(refused)
		s.expect("claim b")
		s.core.claimed("b", nil, "")
		s.expect(answer, "release b")
	}
	s.client(load)
	s.core.claimed("b", nil, "")
	s.expect("claim b", "agent1< "+load)
	s.agent(1, `{"id":5,"result":{}}`)
	s.expect(`client< {"id":5,"result":{}}`)

	// One that is live stays so.
	s.client(refused)
	s.expect(answer)
	s.client(prompt(6, "b"))
	s.expect("agent1< " + prompt(6, "b"))
	if got := s.requests(); got != "6" {
		t.Errorf("open requests are %s", got)
	}
}
