//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

// TestGeminiUsage has gemini-cli's own form of tokens brought into ACP's, where that
// is asked for, and into the books and the figures of a capture in any case.
func TestGeminiUsage(t *testing.T) {
	for flag, want := range map[string]bool{"on": true, "auto": false} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			capture := filepath.Join(w.home, "capture.jsonl")
			c := w.probe(through(w.gemini(startModel(t)), "--usage-normalise="+flag, "--record="+capture))
			if _, err := c.Initialize(c.ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
				t.Fatal(err)
			}
			made, err := c.NewSession(c.ctx, acp.NewSessionRequest{Cwd: w.cwd, McpServers: []acp.McpServer{}})
			if err != nil {
				t.Fatal(err)
			}
			for turn := 1; turn <= 2; turn++ {
				r, err := c.Prompt(c.ctx, acp.PromptRequest{SessionId: made.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("hello there")}})
				if err != nil {
					t.Fatal(err)
				}
				if (r.Usage != nil) != want {
					t.Fatalf("usage in the result: %+v", r.Usage)
				}
				// Each turn's request has 3 tokens in and 4 out; ACP's are of all turns.
				if want && (r.Usage.InputTokens != 3*turn || r.Usage.OutputTokens != 4*turn || r.Usage.TotalTokens != 7*turn) {
					t.Errorf("turn %d: %+v", turn, *r.Usage)
				}
			}
			c.p.stdin.Close()
			c.p.wait()
			for _, args := range [][]string{{"usage"}, {"usage", capture}} {
				p, code := w.do(append([]string{shim}, args...)...)
				if out := p.out(); code != 0 || !strings.Contains(out, "2 turns in 1 session · 6 tokens in, 8 out") || !regexp.MustCompile(`(?m)^gemini-\S+ +2 +6 +- +8 `).MatchString(out) {
					t.Errorf("%v gave %d and\n%s", args, code, out)
				}
			}
			if b, err := os.ReadFile(capture); err != nil || strings.Contains(string(b), `"usage":{"inputTokens":3`) != want {
				t.Errorf("the capture has the standard fields: %v, %v", !want, err)
			}
		})
	}
}
