//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShimInAShim: a session that the outer shim owns can be loaded through the
// inner one.
func TestShimInAShim(t *testing.T) {
	s := newStage(t)
	inner := filepath.Join(t.TempDir(), "acp-shim") // another file: a shim refuses itself
	program, err := os.ReadFile(s.shim)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inner, program, 0o755); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{s.shim, "--", inner, "--"}, s.sim("1.3.0")...)
	open := `{"cwd":"` + s.cwd + `","mcpServers":[]}`

	c := s.start(argv)
	c.call("initialize", `{"protocolVersion":1}`)
	id := c.call("session/new", open).Get("result.sessionId").Str
	c.call("session/prompt", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":"hello"}]}`)
	c.end()

	c = s.start(argv)
	c.call("initialize", `{"protocolVersion":1}`)
	if a := c.call("session/load", `{"sessionId":"`+id+`","cwd":"`+s.cwd+`","mcpServers":[]}`); !a.Get("result").Exists() {
		t.Errorf("load: %s", a.Raw)
	}
	c.end()
}
