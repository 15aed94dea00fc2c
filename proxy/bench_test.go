package proxy

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

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

// BenchmarkLoop is a chunk's way from an agent's pipe to the client's, in
// batches as large as the reader takes.
func BenchmarkLoop(b *testing.B) {
	r := newRig(b, Options{Policy: exclusive, Chain: []Interceptor{Base{}, Base{}, Base{}}})
	a := r.agent()
	go io.Copy(io.Discard, a.received)
	fmt.Fprintln(r.send, initRequest)
	fmt.Fprintln(a.say, initResult)
	r.read(len(initResult) + 1)
	fmt.Fprintln(a.say, `{"id":1,"result":{"sessionId":"a"}}`)
	line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n"
	block := []byte(strings.Repeat(line, 300))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for n := b.N; n > 0; n -= 300 {
			a.say.Write(block)
		}
	}()
	for n := b.N; n > 0; n -= 300 {
		r.read(len(block))
	}
}

// BenchmarkRequest is a request that the shim only carries, and its answer.
func BenchmarkRequest(b *testing.B) {
	s := opened(&testing.T{}, Options{Chain: []Interceptor{Base{}, Base{}, Base{}}})
	s.core.taps, s.core.fx = nil, nothing{s}
	ask := []byte(`{"jsonrpc":"2.0","id":7,"method":"_ping","params":{"x":"` + strings.Repeat("y", 150) + `"}}` + "\n")
	answer := []byte(`{"jsonrpc":"2.0","id":7,"result":{"x":"` + strings.Repeat("y", 150) + `"}}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		s.core.client(ask)
		s.core.agentLine(1, answer)
	}
}
