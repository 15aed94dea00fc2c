package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/agent"
	"acp-shim/internal/client"
	"acp-shim/internal/wire"
)

// talkMax bounds what an agent may say while it is examined, in bytes: it is kept.
const talkMax = 64 * mib

// handshake is what came of starting the agent and asking it.
type handshake struct {
	skipped bool // there is nothing to start, or it would die
	err     error
	stderr  string
	took    time.Duration
	result  gjson.Result

	sessionErr error
	sessionID  string
}

func (h *handshake) name() string    { return clip(h.result.Get("agentInfo.name").Str) }
func (h *handshake) version() string { return clip(h.result.Get("agentInfo.version").Str) }

// clip bounds a text of the agent's.
func clip(text string) string {
	if len(text) > 200 {
		return strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

// shake starts the agent, asks it, and ends it.
func (x *Exam) shake(ctx context.Context) *handshake {
	f, err := x.found()
	if err != nil || x.GOARCH == "amd64" && f.IsAgy && !x.hasAVX() {
		return &handshake{skipped: true}
	}
	ctx, cancel := context.WithTimeout(ctx, x.Patience)
	defer cancel()
	c, err := client.Start(client.Options{Spec: x.Spec(f), MaxLine: talkMax, MaxKept: talkMax})
	if err != nil {
		return &handshake{err: err}
	}
	h := &handshake{}
	var once sync.Once
	end := func() { once.Do(func() { c.Close(time.Second) }) }
	defer end()
	call := c.Request("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"acp-shim doctor","version":`+wire.Quote(x.Version)+`}}`)
	answer, err := call.Wait(ctx)
	switch {
	case err != nil:
		h.stderr, h.err = lastWords(c, err)
		return h
	case answer.Error.Exists():
		h.err = &client.RefusedError{Method: "initialize", Object: answer.Error}
	}
	h.took, h.result = answer.Took(), answer.Result
	if h.err == nil && x.Session {
		h.open(ctx, c, x.temp())
	}
	end()
	h.stderr = c.Process.Tail()
	return h
}

// lastWords is how an agent ended that could not be asked: one that dies at once has
// its pipe closed before the request is written.
func lastWords(c *client.Conn, err error) (stderr string, why error) {
	var gone *client.GoneError
	var late *client.LateError
	if !errors.As(err, &gone) && !errors.As(err, &late) {
		limit := time.NewTimer(time.Second)
		defer limit.Stop()
		select {
		case <-c.Process.Done():
			err = &client.GoneError{Exit: c.Process.Exit().Words, Before: "it answered initialize"}
			select {
			case <-c.Process.StderrDone():
			case <-limit.C:
			}
		case <-limit.C:
		}
	}
	return c.Process.Tail(), err
}

// open opens a session, and closes it where the agent can.
func (h *handshake) open(ctx context.Context, c *client.Conn, cwd string) {
	r, err := c.Request("session/new", `{"cwd":`+wire.Quote(cwd)+`,"mcpServers":[]}`).Result(ctx)
	h.sessionID, h.sessionErr = r.Get("sessionId").Str, err
	if err == nil && h.sessionID == "" {
		h.sessionErr = errors.New("the agent answered session/new without a session id")
	}
	if h.sessionErr == nil && h.result.Get("agentCapabilities.sessionCapabilities.close").Exists() {
		c.Request("session/close", `{"sessionId":`+wire.Quote(h.sessionID)+`}`).Wait(ctx)
	}
}

func (x *Exam) shakeHands() []Finding {
	h := x.handshake()
	switch {
	case h.skipped:
		return nil
	case h.err != nil:
		return one(x.failedStart(h))
	}
	if !h.result.IsObject() {
		return one(problem("the agent answered initialize in %.1f s with something that is no object", h.took.Seconds()).
			remedy("it does not speak ACP: name another agent; acp-shim probe shows what it says"))
	}
	var methods []string
	for _, m := range h.result.Get("authMethods").Array() {
		if id := m.Get("id").Str; id != "" && len(methods) < 20 {
			methods = append(methods, clip(id))
		}
	}
	text := fmt.Sprintf("the agent answered in %.1f s, protocol version %d", h.took.Seconds(), h.result.Get("protocolVersion").Int())
	if len(methods) > 0 {
		text += ", logins " + strings.Join(methods, ", ")
	}
	if v := h.result.Get("protocolVersion"); v.Int() != 1 {
		return one(warning("%s", text).remedy("clients speak version 1; see acp-shim probe for what works"))
	}
	return one(ok("%s", text))
}

// The server's allocator wants addresses of 48 bits, and kernels built for 39 do not
// have them (1.1.1 and RC01 on a Chromebook:
// https://github.com/agentclientprotocol/registry/issues/570).
const (
	tcmallocFault  = "the TCMalloc fault of some arm64 machines, whose kernel has shorter addresses than the 48 bits that the agent's allocator needs"
	tcmallocRemedy = "use a kernel with CONFIG_ARM64_VA_BITS=48 (one in a virtual machine will do), or another machine"
)

// failedStart says why an agent did not answer, by what it said last.
func (x *Exam) failedStart(h *handshake) Finding {
	text := clip(h.err.Error())
	stderr := h.stderr
	var gone *client.GoneError
	if errors.As(h.err, &gone) && stderr == "" {
		stderr = gone.Stderr
	}
	p := problem("%s", text)
	if lines := strings.Split(strings.TrimSpace(stderr), "\n"); lines[0] != "" {
		p.Details = append([]string{"its last lines on stderr:"}, lines[max(0, len(lines)-8):]...)
	}
	var start *agent.StartError
	lower := strings.ToLower(stderr)
	switch {
	case errors.As(h.err, &start):
		return p.remedy("acp-shim agent verify looks at an installation; acp-shim agent install makes one")
	case strings.Contains(lower, "tcmalloc") && x.GOARCH == "arm64":
		p.Text = text + ": " + tcmallocFault
		return p.remedy(tcmallocRemedy)
	case strings.Contains(stderr, "MmapAligned() failed"):
		p.Text = text + ": its allocator, TCMalloc, got no address space"
		return p.remedy("look for a limit (ulimit -v), or a sandbox around it")
	case strings.Contains(stderr, "LookupGIDByGroupName"):
		p.Text = text + ": it looked up the group nobody, which this machine does not have"
		return p.remedy("give it --uid= among its arguments, or make the group: groupadd -r nobody")
	case strings.Contains(text, "SIGILL"):
		return p.remedy("the agent needs AVX: use a machine with it; in a virtual machine, give it the host's processor")
	case strings.Contains(text, "SIGKILL"):
		return p.remedy("look whether the memory has run out (dmesg), and at what limits this user's processes")
	case strings.Contains(lower, "flags parsing error") || strings.Contains(lower, "unknown command line flag"):
		return p.remedy("an argument is unknown to this build, for which that is fatal: leave it out")
	}
	return p.remedy("start it by hand and look at what it says; acp-shim report puts together what a bug report needs")
}

func (x *Exam) session() []Finding {
	h := x.handshake()
	if !x.Session || h.skipped || h.err != nil {
		return nil
	}
	if h.sessionErr == nil {
		return one(ok("a session was opened; it leaves a conversation behind"))
	}
	p := problem("no session can be opened: %s", clip(h.sessionErr.Error()))
	var refused *client.RefusedError
	switch {
	case errors.As(h.sessionErr, &refused) && refused.Code() == -32000:
		return one(p.remedy("log in: acp-shim login"))
	case errors.As(h.sessionErr, &refused) && refused.Code() == -32603:
		return one(p.remedy("look at the harness above: without it the agent answers so"))
	}
	return one(p.remedy("acp-shim report puts together what a bug report needs"))
}
