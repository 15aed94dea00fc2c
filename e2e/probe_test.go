//go:build linux

package e2e

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// prober is a client on the Go SDK's own connection, with its types and its
// order of things.
type prober struct {
	*acp.ClientSideConnection
	w   *world
	ctx context.Context
	p   *program

	mu      sync.Mutex
	changed chan struct{}
	updates []acp.SessionUpdate
	asked   []acp.RequestPermissionRequest
	mute    bool // requests for permission are not answered
}

func (w *world) probe(argv []string) *prober {
	w.t.Helper()
	c := &prober{w: w, ctx: w.context(), changed: make(chan struct{})}
	c.p = &program{t: w.t, cmd: w.command(argv)}
	stdin, err := c.p.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	c.p.stdin = stdin
	c.p.cmd.Stdout, c.p.cmd.Stderr = childOut, saying{c.p, false}
	c.p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.p.run(w)
	childOut.Close()
	w.t.Cleanup(func() { out.Close() })
	c.ClientSideConnection = acp.NewClientSideConnection(c, stdin, out)
	c.SetLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	return c
}

func (c *prober) note(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *prober) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.note(func() { c.updates = append(c.updates, n.Update) })
	return nil
}

// RequestPermission takes the first option, as most clients do that do not ask.
func (c *prober) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	mute := false
	c.note(func() { c.asked, mute = append(c.asked, r), c.mute })
	if mute {
		select {
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
		return acp.RequestPermissionResponse{}, errNotOffered
	}
	return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{
		Selected: &acp.RequestPermissionOutcomeSelected{OptionId: r.Options[0].OptionId},
	}}, nil
}

func (c *prober) WriteTextFile(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, os.WriteFile(r.Path, []byte("by the client: "+r.Content), 0o644)
}

var errNotOffered = errors.New("the client does not offer that")

func (c *prober) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNotOffered
}

func (c *prober) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNotOffered
}

func (c *prober) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNotOffered
}

func (c *prober) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNotOffered
}

func (c *prober) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNotOffered
}

func (c *prober) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNotOffered
}

// take is what has been said since it was last taken, by the user and by the
// agent.
func (c *prober) take() (user, agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.updates {
		if m := u.UserMessageChunk; m != nil && m.Content.Text != nil {
			user += m.Content.Text.Text
		}
		if m := u.AgentMessageChunk; m != nil && m.Content.Text != nil {
			agent += m.Content.Text.Text
		}
	}
	c.updates = nil
	return user, agent
}

// some waits for a first update.
func (c *prober) some() {
	c.w.t.Helper()
	c.until("an update", func() bool { return len(c.updates) > 0 })
}

// permission waits for a first request for one.
func (c *prober) permission() {
	c.w.t.Helper()
	c.until("a request for permission", func() bool { return len(c.asked) > 0 })
}

// until waits until something has come.
func (c *prober) until(what string, there func() bool) {
	c.w.t.Helper()
	for {
		c.mu.Lock()
		ok, changed := there(), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			c.w.t.Fatalf("%s did not come", what)
		}
	}
}

func (c *prober) turn(session acp.SessionId, text, want string) {
	c.w.t.Helper()
	c.take()
	r, err := c.Prompt(c.ctx, acp.PromptRequest{SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if _, said := c.take(); err != nil || r.StopReason != acp.StopReasonEndTurn || said != want {
		c.w.t.Errorf("%q was answered %q, %q, %v; want %q", text, said, r.StopReason, err, want)
	}
}

// cancelled begins a turn, has it cancelled once it has said something, and
// gives its answer.
func (c *prober) cancelled(ctx context.Context, session acp.SessionId, text string, cancel func()) (acp.PromptResponse, error) {
	c.w.t.Helper()
	c.take()
	type answer struct {
		r   acp.PromptResponse
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		r, err := c.Prompt(ctx, acp.PromptRequest{SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
		answered <- answer{r, err}
	}()
	c.some()
	began := time.Now()
	cancel()
	a := <-answered
	c.w.t.Logf("the prompt was answered %v after its cancel", time.Since(began).Round(time.Millisecond))
	return a.r, a.err
}

func TestProbe(t *testing.T) {
	for build, version := range map[string]string{
		"rc01": "agy_acp_server_20260818_01_RC01", "1.1.1": "agy_acp_server_1.1.1", "1.2.1": "1.2.1", "1.3.0": "1.3.0",
	} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.probe(through(simulator(build)))
			hello, err := c.Initialize(c.ctx, acp.InitializeRequest{
				ProtocolVersion:    acp.ProtocolVersionNumber,
				ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{WriteTextFile: true}},
				ClientInfo:         &acp.Implementation{Name: "probe", Version: "1"},
			})
			if err != nil || hello.AgentInfo == nil || hello.AgentInfo.Version != version || !hello.AgentCapabilities.LoadSession {
				t.Fatalf("initialize: %+v, %v", hello, err)
			}
			made, err := c.NewSession(c.ctx, acp.NewSessionRequest{Cwd: w.cwd, McpServers: []acp.McpServer{}})
			if err != nil {
				t.Fatal(err)
			}
			id := made.SessionId
			c.whole(id)

			if _, err := c.CloseSession(c.ctx, acp.CloseSessionRequest{SessionId: id}); err != nil {
				t.Errorf("close: %v", err)
			}
			c.p.stdin.Close()
			if code := c.p.wait(); code != 0 {
				t.Errorf("exit code %d at the end of the input", code)
			}
		})
	}
}

// whole is what a session goes through in a day.
func (c *prober) whole(id acp.SessionId) {
	t := c.w.t
	t.Helper()
	const model, long = "gemini-3.8-flash-low", "stream 100000 every 20ms"
	set, err := c.SetSessionConfigOption(c.ctx, acp.SetSessionConfigOptionRequest{
		ValueId: &acp.SetSessionConfigOptionValueId{SessionId: id, ConfigId: "model", Value: model},
	})
	if err != nil || len(set.ConfigOptions) == 0 {
		t.Errorf("set_config_option: %+v, %v", set, err)
	}
	c.turn(id, "config", "model="+model+" mode=default")

	file := filepath.Join(c.w.cwd, "note.txt")
	c.turn(id, "edit note.txt what to write", "I wrote note.txt.")
	if b, err := os.ReadFile(file); err != nil || string(b) != "by the client: what to write\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if len(c.asked) != 1 || c.asked[0].Options[0].Kind != acp.PermissionOptionKindAllowOnce {
		t.Errorf("asked were %+v", c.asked)
	}
	if _, err := c.SetSessionMode(c.ctx, acp.SetSessionModeRequest{SessionId: id, ModeId: "yolo"}); err != nil {
		t.Errorf("set_mode: %v", err)
	}

	// Twice by a notification, so that a build that ignores it is known after;
	// then as the SDK does it when the prompt's context ends.
	for range 2 {
		r, err := c.cancelled(c.ctx, id, long, func() {
			if err := c.Cancel(c.ctx, acp.CancelNotification{SessionId: id}); err != nil {
				t.Errorf("cancel: %v", err)
			}
		})
		if err != nil || r.StopReason != acp.StopReasonCancelled {
			t.Errorf("a cancelled prompt was answered %+v, %v", r, err)
		}
		c.turn(id, "config", "model="+model+" mode=yolo")
	}
	ctx, cancel := context.WithCancel(c.ctx)
	if r, err := c.cancelled(ctx, id, long, cancel); r.StopReason != acp.StopReasonCancelled && err == nil {
		t.Errorf("a prompt whose context ended was answered %+v, %v", r, err)
	}
	c.turn(id, "config", "model="+model+" mode=yolo")

	c.take()
	if _, err := c.LoadSession(c.ctx, acp.LoadSessionRequest{SessionId: id, Cwd: c.w.cwd, McpServers: []acp.McpServer{}}); err != nil {
		t.Errorf("load: %v", err)
	}
	if user, agent := c.take(); !strings.Contains(user, "edit note.txt what to write") || !strings.Contains(agent, "I wrote note.txt.") {
		t.Errorf("the load replayed %q and %q", user, agent)
	}
	c.turn(id, "Reply with exactly: STILL HERE. Thanks.", "STILL HERE.")

	list, err := c.ListSessions(c.ctx, acp.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id {
		t.Errorf("list: %+v, %v", list, err)
	}
}
