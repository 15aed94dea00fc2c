//go:build linux

package e2e

import (
	"path/filepath"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// TestGeminiAndAMuteClient has a client cancel a turn that asks for permission,
// and never answer that, as avante does: gemini waits for it without end. Behind
// the shim the turn ends, also with the profile that rewrites nothing, and the
// process is the same one.
func TestGeminiAndAMuteClient(t *testing.T) {
	const wedged = 4 * time.Second // the shim's grace is one
	for name, front := range map[string]func([]string) []string{
		"bare":    func(agent []string) []string { return agent },
		"through": func(agent []string) []string { return through(agent) },
		"none":    func(agent []string) []string { return through(agent, "--profile=none") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := startModel(t)
			c := w.probe(front(w.gemini(m)))
			c.mute = true
			if _, err := c.Initialize(c.ctx, acp.InitializeRequest{
				ProtocolVersion:    acp.ProtocolVersionNumber,
				ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{WriteTextFile: true}},
			}); err != nil {
				t.Fatal(err)
			}
			made, err := c.NewSession(c.ctx, acp.NewSessionRequest{Cwd: w.cwd, McpServers: []acp.McpServer{}})
			if err != nil {
				t.Fatal(err)
			}
			// What gemini puts in front of its first prompt hides it from the model.
			c.turn(made.SessionId, "hello there", "Hello from a model that is none.")
			answered := make(chan acp.PromptResponse, 1)
			go func() {
				text := acp.TextBlock("write " + filepath.Join(w.cwd, "made.txt"))
				r, err := c.Prompt(c.ctx, acp.PromptRequest{SessionId: made.SessionId, Prompt: []acp.ContentBlock{text}})
				if err == nil {
					answered <- r
				}
			}()
			c.permission()
			began := time.Now()
			if err := c.Cancel(c.ctx, acp.CancelNotification{SessionId: made.SessionId}); err != nil {
				t.Fatal(err)
			}
			if name == "bare" {
				select {
				case r := <-answered:
					t.Errorf("gemini is not what it was: %v after a cancel its turn ended %q", time.Since(began), r.StopReason)
				case <-time.After(wedged):
				}
				return
			}
			select {
			case r := <-answered:
				if r.StopReason != acp.StopReasonCancelled {
					t.Errorf("the turn ended %q", r.StopReason)
				}
				t.Logf("the prompt was answered %v after its cancel", time.Since(began).Round(time.Millisecond))
			case <-time.After(patience):
				t.Fatal("the turn does not end")
			}
			c.turn(made.SessionId, "hello again", "Hello from a model that is none.")
			c.p.stdin.Close()
			if code := c.p.wait(); code != 0 {
				t.Errorf("exit code %d at the end of the input", code)
			}
		})
	}
}
