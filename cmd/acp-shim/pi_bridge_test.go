//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"acp-shim/fixtures/bridge"
)

// TestPiBridge: pi registers its own bridge in every new and load, with the
// token without which the bridge answers 403, and an aborted turn's session
// has it in its next process as well.
func TestPiBridge(t *testing.T) {
	token := rand.Text()
	b, err := bridge.Start(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := newStage(t)
	p := s.pi(s.shim, "ACP_SHIM_AGENT="+strings.Join(s.sim("rc01"), " "))
	p.servers = fmt.Sprintf(`[{"name":"pi-bridge","type":"http","url":%q,"headers":[{"name":%q,"value":%q}]}]`, b.URL, bridge.TokenHeader, token)
	const call = `mcp pi-bridge bridge_echo {\"text\":\"by pi\"}`
	for range 2 {
		if said, stop := p.turn(call); said != "ECHO:by pi" || stop != "end_turn" {
			t.Errorf("the bridge's turn said %q and ended with %q", said, stop)
		}
		prompt, _ := p.begin("hang")
		p.abort(prompt)
	}
	if calls := b.Calls(); len(calls) != 2 {
		t.Errorf("the bridge saw %+v", calls)
	}
	for _, r := range b.Requests() {
		if r.Refused {
			t.Errorf("the bridge refused %s with %v", r.Method, r.Header)
		}
	}
	p.check()
	p.leave()
}
