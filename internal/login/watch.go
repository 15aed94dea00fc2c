package login

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
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
	renew func()
	fault func(error)

	waits *wait // the agent's open authenticate
	live  int   // processes of the agent
}

// wait is an authenticate that the agent has not answered.
type wait struct {
	request *proxy.Request
	agent   *proxy.Agent
	id      []byte
	method  string
	since   int              // ticks since there is a page
	early   bool             // the client has an error
	joined  []*proxy.Request // later ones of the client's, which get the same answer
	body    string           // the agent's answer to one that was answered early
}

const (
	timerLogin = "login"
	// tick is how often it is looked for a page while an authenticate is open, and
	// earlyTicks how many of them a browser has to be seen.
	tick       = 250 * time.Millisecond
	earlyTicks = 12
)

// NewWatch makes the interceptor. alone tells that a browser could not be seen (see
// Alone). The functions are called not under the loop's lock: tell for a page that no
// browser was started for, renew where processes are left that know nothing of a
// login, since the client had its answer before the login was done; fault where a
// page that goes to a browser cannot be seen.
func NewWatch(catch *Catch, alone bool, tell func(Page), renew func(), fault func(error)) *Watch {
	return &Watch{catch: catch, alone: alone, tell: tell, renew: renew, fault: fault}
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
	if m.Method == "$/cancel_request" && w.waits != nil {
		w.cancel(s, m)
		return
	}
	if m.Kind != wire.Request || m.Method != acp.AgentMethodAuthenticate || s.Own() {
		return
	}
	method := methodOf(m.Text(m.Params))
	if w.waits != nil {
		if w.waits.method == method {
			w.waits.joined = append(w.waits.joined, s.Request())
			s.Hold("the agent still waits for the login that the client has begun before")
		}
		return
	}
	w.waits = &wait{request: s.Request(), agent: s.Agent(), id: bytes.Clone(m.Text(m.ID)), method: method}
	w.catch.Forget()
	w.catch.Soon(w.catch.Begin, w.fault)
	s.After(tick, timerLogin)
}

// cancel answers an authenticate that is held here, of which the agent knows nothing.
func (w *Watch) cancel(s *proxy.Step, m *proxy.Message) {
	x := w.waits
	id := gjson.GetBytes(m.Text(m.Params), "requestId").Raw
	at := slices.IndexFunc(x.joined, func(r *proxy.Request) bool { return r.ID() == id })
	if at < 0 {
		return
	}
	s.Answer(x.joined[at], proxy.ErrorBody(proxy.CodeCancelled, "request cancelled", nil), "cancelled while held")
	s.Drop("request was held")
	x.joined = slices.Delete(x.joined, at, at+1)
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
	w.answerJoined(s, outcome(m), "as the agent answered the login that was begun before")
	w.done(s)
}

// failure is an error of the shim's own. Its code is not -32000, which would have the
// client begin the login again by itself.
func failure(message, reason string) string {
	return proxy.ErrorBody(proxy.CodeInternal, message, map[string]string{"reason": reason})
}

// outcome is an answer's "result" or "error" member.
func outcome(m *proxy.Message) string {
	if m.Error.Found() {
		return `"error":` + string(m.Text(m.Error))
	}
	return `"result":` + string(m.Text(m.Result))
}

func (w *Watch) answerJoined(s *proxy.Step, body, why string) {
	for _, r := range w.waits.joined {
		s.Answer(r, body, why)
	}
	w.waits.joined = nil
}

func (w *Watch) done(s *proxy.Step) {
	w.waits = nil
	s.After(0, timerLogin)
	w.catch.Soon(w.catch.End, w.fault)
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
		w.answerJoined(s, x.body, "as the agent answered the login that was begun before")
		if strings.HasPrefix(x.body, `"result"`) && w.live > 1 {
			go w.renew()
		}
		w.done(s)
		return
	case !x.early && w.alone && !opened && x.since >= earlyTicks:
		x.early = true
		body := failure(p.Advice(), "login_waits")
		s.Answer(x.request, body, "nobody can see the login page")
		w.answerJoined(s, body, "nobody can see the login page")
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
	x.body = outcome(m)
}

// Event counts the processes.
func (w *Watch) Event(e *proxy.Event) {
	switch e.Kind {
	case "spawn":
		w.live++
	case "exit":
		w.live--
	}
}

// Exit ends the wait for a process that is gone.
func (w *Watch) Exit(s *proxy.Step, a *proxy.Agent) {
	x := w.waits
	if x == nil || x.agent != nil && x.agent != a {
		return
	}
	w.answerJoined(s, failure("the agent ended while it waited for the login; log in again", "login_lost"), "its process is gone")
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
