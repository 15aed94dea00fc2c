package proxy

import "testing"

// BenchmarkChunk is a chunk's way through a core with three interceptors, from
// the line to the effect.
func BenchmarkChunk(b *testing.B) {
	s := opened(&testing.T{}, Options{Chain: []Interceptor{Base{}, Base{}, Base{}}})
	s.core.taps, s.core.fx = nil, nothing{s}
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		s.core.agentLine(1, line)
	}
}

// BenchmarkTurn is a prompt and its answer.
func BenchmarkTurn(b *testing.B) {
	s := opened(&testing.T{}, Options{Chain: []Interceptor{Base{}, Base{}, Base{}}})
	s.core.taps, s.core.fx = nil, nothing{s}
	ask := []byte(prompt(2, "a") + "\n")
	answer := []byte(`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		s.core.client(ask)
		s.core.agentLine(1, answer)
	}
}
