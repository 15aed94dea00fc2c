package login

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Watch is the interceptor, and a tap, for logins through the shim. Where nobody can
// see the page, the client's authenticate is answered with an error that has its
// address, while the agent goes on waiting for it; the next authenticate waits for
// what becomes of that.
//
// ACP has no other way to tell a person something during authenticate.
type Watch struct {
	proxy.Base
	catch *Catch
	// alone tells that no browser can be seen from here.
	alone bool
	tell  func(Page)

	waits *wait // the agent's open authenticate
}

// wait is an authenticate that the agent has not answered.
type wait struct {
	request *proxy.Request
	agent   *proxy.Agent
	id      []byte
	method  string
	since   int            // ticks since there is a page
	early   bool           // the client has an error
	joined  *proxy.Request // a later one of the client's, which gets the answer
	body    string         // the agent's answer to one that was answered early
}

const (
	timerLogin = "login"
	// tick is how often it is looked for a page while an authenticate is open, and
	// earlyTicks how many of them a browser has to be seen.
	tick       = 250 * time.Millisecond
	earlyTicks = 12
)

// NewWatch makes the interceptor. alone tells that a browser could not be seen (see
// Alone); tell is called, not under the loop's lock, for a page that no browser was
// started for.
func NewWatch(catch *Catch, alone bool, tell func(Page)) *Watch {
	return &Watch{catch: catch, alone: alone, tell: tell}
}

// Alone tells that whoever looks at this machine's screen, if anybody, is not the
// user: a session over ssh, or a system without a display.
func Alone(getenv func(string) string) bool {
	if getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "" {
		return true
	}
	return runtime.GOOS == "linux" && getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" && getenv("BROWSER") == "" && getenv("WSL_DISTRO_NAME") == ""
}

// FromClient sees authenticate.
func (w *Watch) FromClient(s *proxy.Step, m *proxy.Message) {
	if m.Kind != wire.Request || m.Method != acp.AgentMethodAuthenticate || s.Own() {
		return
	}
	method := methodOf(m.Text(m.Params))
	if w.waits != nil && w.waits.early && w.waits.method == method && w.waits.joined == nil {
		w.waits.joined = s.Request()
		s.Hold("the agent still waits for the login that the client has begun before")
		return
	}
	if w.waits != nil {
		return
	}
	w.waits = &wait{request: s.Request(), agent: s.Agent(), id: bytes.Clone(m.Text(m.ID)), method: method}
	if err := w.catch.Begin(); err != nil {
		s.Log(0, "a login page that goes to a browser is not seen", "why", err.Error())
	}
	s.After(tick, timerLogin)
}

func methodOf(params []byte) string {
	if id := gjson.GetBytes(params, "methodId"); id.Exists() {
		return id.Str
	}
	return gjson.GetBytes(params, "method").Str // the quirk auth-method-id
}

// FromAgent sees its answer.
func (w *Watch) FromAgent(s *proxy.Step, m *proxy.Message) {
	if w.waits == nil || m.Kind != wire.Response || s.Request() != w.waits.request {
		return
	}
	if m.Error.Found() {
		if p, _ := w.catch.Page(); p.URL != "" {
			message, ok := m.At(m.Error, "message")
			if ok {
				m.Set(message, wire.Quote(m.String(message)+" The login page was "+p.URL+" ; acp-shim login shows one in a terminal."))
			}
		}
	}
	w.done(s)
}

func (w *Watch) done(s *proxy.Step) {
	w.waits = nil
	s.After(0, timerLogin)
	w.catch.End()
}

// Timer looks whether there is a page, and whether the agent has answered.
func (w *Watch) Timer(s *proxy.Step, _ string) {
	x := w.waits
	if x == nil {
		return
	}
	p, opened := w.catch.Page()
	if p.URL != "" {
		x.since++
	}
	if x.since == earlyTicks && !opened {
		go w.tell(p)
	}
	switch {
	case x.body != "":
		if x.joined != nil {
			s.Answer(x.joined, x.body, "as the agent answered the login that was begun before")
		}
		w.done(s)
		return
	case !x.early && w.alone && !opened && x.since >= earlyTicks:
		x.early = true
		s.Answer(x.request, `"error":{"code":-32000,"message":`+wire.Quote(p.Advice())+`,"data":{"reason":"login_waits"}}`,
			"nobody can see the login page")
	}
	s.After(tick, timerLogin)
}

// Frame sees what an agent says to an authenticate that was answered early.
func (w *Watch) Frame(f *proxy.Frame) {
	x := w.waits
	if f.To != proxy.Nobody || f.From.Gen() == 0 {
		return
	}
	if f.Why == "noise" {
		w.catch.Line(f.Bytes)
	}
	if x == nil || !x.early || x.body != "" || x.agent != nil && f.From != proxy.AgentPeer(x.agent.Gen()) {
		return
	}
	m := &proxy.Message{}
	m.Parse(f.Bytes)
	if m.Kind != wire.Response || !bytes.Equal(m.Text(m.ID), x.id) {
		return
	}
	name, v := "result", m.Result
	if m.Error.Found() {
		name, v = "error", m.Error
	}
	x.body = wire.Quote(name) + ":" + string(m.Text(v))
}

// Event is nothing to it.
func (w *Watch) Event(*proxy.Event) {}

// Exit ends the wait for a process that is gone.
func (w *Watch) Exit(s *proxy.Step, a *proxy.Agent) {
	x := w.waits
	if x == nil || x.agent != nil && x.agent != a {
		return
	}
	if x.joined != nil {
		s.Answer(x.joined, `"error":{"code":-32000,"message":"The agent ended while it waited for the login. Begin again.","data":{"reason":"login_lost"}}`, "its process is gone")
	}
	w.done(s)
}

// Advice is what to do with the page, in one line.
func (p Page) Advice() string {
	text := "To log in, open this page in a browser and then try again: " + p.URL
	if p.Port != 0 {
		text += fmt.Sprintf(" — on another machine, first run there: %s", p.Tunnel())
	}
	return text
}

// Tunnel is the command that brings the page's way back to the machine where the
// agent runs, for the machine with the browser.
func (p Page) Tunnel() string {
	return fmt.Sprintf("ssh -N -L %d:127.0.0.1:%d %s", p.Port, p.Port, here(os.Getenv))
}

// here is this machine, as ssh wants it.
func here(getenv func(string) string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "this-machine"
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if user := getenv(name); user != "" {
			return user + "@" + host
		}
	}
	return host
}
