//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// gemini-cli as the agent: another agent than the shim was made for, behind it
// with the profile that it gets by itself and with the one that changes nothing.

func (w *world) gemini(m *model) []string {
	w.t.Helper()
	bundle, err := filepath.Abs("gemini/node_modules/@google/gemini-cli/bundle/gemini.js")
	if err == nil {
		_, err = os.Stat(bundle)
	}
	if err != nil {
		w.t.Fatalf("gemini-cli is not installed: %v; e2e/run installs it", err)
	}
	settings := filepath.Join(w.home, ".gemini", "settings.json")
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(settings), 0o755),
		os.WriteFile(settings, []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}`), 0o644),
	} {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.env = append(w.env, "GOOGLE_GEMINI_BASE_URL="+m.url, "GEMINI_API_KEY=none", "GEMINI_MODEL=gemini-2.5-flash", "GEMINI_CLI_HOME="+w.home, "GEMINI_CLI_TRUST_WORKSPACE=true")
	return []string{node, bundle, "--acp"}
}

func TestGemini(t *testing.T) {
	for name, flags := range map[string][]string{"none": {"--profile", "none"}, "auto": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := startModel(t)
			c := w.probe(through(w.gemini(m), flags...))
			hello, err := c.Initialize(c.ctx, acp.InitializeRequest{
				ProtocolVersion:    acp.ProtocolVersionNumber,
				ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{WriteTextFile: true}},
			})
			if err != nil || hello.AgentInfo == nil || hello.AgentInfo.Name != "gemini-cli" {
				t.Fatalf("initialize: %+v, %v", hello, err)
			}
			made, err := c.NewSession(c.ctx, acp.NewSessionRequest{Cwd: w.cwd, McpServers: []acp.McpServer{}})
			if err != nil {
				t.Fatal(err)
			}
			id := made.SessionId
			c.turn(id, "hello there", "Hello from a model that is none.")

			file := filepath.Join(w.cwd, "made.txt")
			c.take()
			r, err := c.Prompt(c.ctx, acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("write " + file)}})
			if err != nil || r.StopReason != acp.StopReasonEndTurn {
				t.Errorf("the tool's turn ended %+v, %v", r, err)
			}
			if _, said := c.take(); !strings.Contains(said, "The tool said ") || len(c.asked) != 1 {
				t.Errorf("%d permissions, then %q", len(c.asked), said)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != "by the client: written by the model\n" {
				t.Errorf("the file has %q, %v", b, err)
			}

			got, err := c.cancelled(c.ctx, id, "count", func() {
				if err := c.Cancel(c.ctx, acp.CancelNotification{SessionId: id}); err != nil {
					t.Errorf("cancel: %v", err)
				}
			})
			if err != nil || got.StopReason != acp.StopReasonCancelled {
				t.Errorf("a cancelled prompt was answered %+v, %v", got, err)
			}
			select {
			case <-m.hung:
			case <-time.After(patience):
				t.Error("the stream goes on after its cancel")
			}
			c.turn(id, "hello again", "Hello from a model that is none.")
			c.p.stdin.Close()
			if code := c.p.wait(); code != 0 {
				t.Errorf("exit code %d at the end of the input", code)
			}
		})
	}
}
