//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// pi plays pi-antigravity-bridge: the requests are those of the protocol
// reference that its author captured, byte for byte but for ids, session and
// values, in the order in which its driver sends them.
type pi struct {
	*editor
	session string
	servers string // the text of mcpServers
	mode    string
	prompts [][2]int // their ids, and how many lines had come before
	cancels []int
}

// What pi gives an answer to wait: 30 s an initialize, 20 s everything that is
// no prompt, and 10 s a prompt whose cancel was answered.
const (
	piCancelled = 10 * time.Second
	piTermKill  = 750 * time.Millisecond
)

// pi starts a program as AGY_ACP_BIN names it: without a single argument.
func (s *stage) pi(bin string, env ...string) *pi {
	s.t.Helper()
	p := &pi{editor: s.start([]string{bin}, env...), servers: "[]", mode: "yolo"}
	if r := p.seed("initialize", nil); r.Get("error").Exists() {
		s.t.Fatalf("initialize: %s", r.Raw)
	}
	return p
}

var requestID = regexp.MustCompile(`"id":\d+`)

// frame is a request of the reference with the next id and some texts in it
// replaced.
func (p *pi) frame(name string, replace map[string]string) (frame string, id int) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "sim", "testdata", "seed", name+".request.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	frame = strings.TrimSpace(string(b))
	for from, to := range replace {
		if !strings.Contains(frame, from) {
			p.t.Fatalf("the reference's %s has no %s: %s", name, from, frame)
		}
		frame = strings.Replace(frame, from, to, 1)
	}
	id = p.nextID
	p.nextID++
	return requestID.ReplaceAllString(frame, `"id":`+strconv.Itoa(id)), id
}

func (p *pi) seed(name string, replace map[string]string) line {
	p.t.Helper()
	frame, id := p.frame(name, replace)
	p.send(frame)
	return p.answerTo(id)
}

// open is what stands before every prompt: the session, its model, its mode.
func (p *pi) open(model string) {
	p.t.Helper()
	if p.session == "" {
		r := p.seed("session_new", map[string]string{"/abs/cwd": p.stage.cwd, `"mcpServers":[]`: `"mcpServers":` + p.servers})
		if p.session = r.Get("result.sessionId").Str; p.session == "" {
			p.t.Fatalf("session/new: %s", r.Raw)
		}
	} else {
		id := p.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":%s}`, p.session, p.stage.cwd, p.servers))
		if r := p.answerTo(id); !r.Get("result").Exists() {
			p.t.Fatalf("session/load: %s", r.Raw)
		}
	}
	for _, set := range [][2]string{{"model", model}, {"mode", p.mode}} {
		r := p.seed("set_config_option", map[string]string{"<uuid>": p.session, `"configId":"model"`: `"configId":"` + set[0] + `"`, "gemini-3.8-flash-low": set[1]})
		if got := r.Get(`result.configOptions.#(id=="` + set[0] + `").currentValue`).Str; got != set[1] {
			p.t.Errorf("%s is %q after it was set: %s", set[0], got, r.Raw)
		}
	}
}

const piModel = "gemini-3.7-flash-low"

// begin sends a prompt.
func (p *pi) begin(text string) (id, from int) {
	p.t.Helper()
	p.open(piModel)
	frame, id := p.frame("prompt", map[string]string{"<uuid>": p.session, "Reply with exactly: HELLO ACP. Do not use any tools.": text})
	from = p.count()
	p.prompts = append(p.prompts, [2]int{id, from})
	p.send(frame)
	return id, from
}

// turn plays a whole turn and returns what was said and how it ended.
func (p *pi) turn(text string) (said, stop string) {
	p.t.Helper()
	id, from := p.begin(text)
	r := p.must(from, "the prompt's answer", isAnswer(id))
	return spoken(p.since(from, r)), p.line(r).Get("result.stopReason").Str
}

// abort is pi's: a cancel with an id, then some patience for the prompt.
func (p *pi) abort(prompt int) {
	p.t.Helper()
	began := time.Now()
	frame, id := p.frame("cancel", map[string]string{"<uuid>": p.session})
	p.cancels = append(p.cancels, id)
	p.send(frame)
	r := p.answerTo(id)
	if !r.Get("result").Exists() {
		p.t.Errorf("cancel was answered %s", r.Raw)
	}
	answered := r.at.Sub(began)
	r = p.answerTo(prompt)
	if r.Get("result.stopReason").Str != "cancelled" || r.at.Sub(began) > answered+piCancelled {
		p.t.Errorf("%v after the cancel the prompt was answered %s", r.at.Sub(began), r.Raw)
	}
	p.t.Logf("cancel answered after %v, its prompt after %v", answered.Round(time.Millisecond), r.at.Sub(began).Round(time.Millisecond))
}

// check is what has to hold of everything that came.
func (p *pi) check() {
	p.t.Helper()
	answers := map[string]int{}
	all := p.since(0, -1)
	for _, l := range all {
		if !gjson.Valid(l.Raw) {
			p.t.Errorf("a line that is no protocol: %q", l.Raw)
		}
		if l.Get("error.code").Int() == -32000 {
			p.t.Errorf("pi reads this as a demand to log in: %s", l.Raw)
		}
		if !l.Get("method").Exists() {
			answers[l.Get("id").Raw]++
		}
	}
	for id := range p.nextID {
		if n := answers[strconv.Itoa(id)]; n != 1 {
			p.t.Errorf("request %d was answered %d times", id, n)
		}
	}
	live := make([]bool, len(all)+1)
	for _, prompt := range p.prompts {
		for i := prompt[1]; i < len(all) && !isAnswer(prompt[0])(all[i]); i++ {
			live[i] = true
		}
	}
	for i, l := range all {
		switch l.Get("params.update.sessionUpdate").Str {
		case "user_message_chunk":
			// What replays a conversation comes before a load's answer, where
			// pi does not listen; anywhere else it would show it as new.
			next := i
			for next < len(all) && all[next].Get("method").Exists() {
				next++
			}
			if next == len(all) || live[i] || !all[next].Get("result.modes").Exists() {
				p.t.Errorf("history came outside of a load: %s", l.Raw)
			}
		case "agent_message_chunk":
			if !live[i] && !isUpdate("user_message_chunk")(all[i-1]) {
				p.t.Errorf("text came when no turn ran: %s", l.Raw)
			}
		}
	}
}

// leave is how pi ends the program; the leftovers are counted a second after
// the kill at the latest.
func (p *pi) leave() {
	p.t.Helper()
	began := time.Now()
	p.signal(syscall.SIGTERM)
	kill := time.AfterFunc(piTermKill, func() { p.signal(syscall.SIGKILL) })
	defer kill.Stop()
	p.wait()
	p.t.Logf("%v after %v", p.cmd.ProcessState, time.Since(began).Round(time.Millisecond))
	for pid, what := range p.stage.gone(time.Until(began.Add(piTermKill + slowly(time.Second)))) {
		p.t.Errorf("a second after the kill there is still %d %s", pid, what)
	}
}

// usageKeys are the words by which pi would stop its own estimate.
var usageKeys = regexp.MustCompile(`(?i)"[a-z_]*(usage|tokens?|token_?count|used)[a-z_]*":`)

func eachBuild(t *testing.T, f func(t *testing.T, build string)) {
	for _, build := range []string{"rc01", "1.1.1", "1.2.1", "1.3.0"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			f(t, build)
		})
	}
}

func TestPi(t *testing.T) {
	eachBuild(t, func(t *testing.T, build string) {
		s := newStage(t)
		p := s.pi(s.shim, "ACP_SHIM_AGENT="+strings.Join(s.sim(build), " "))

		if said, stop := p.turn("Reply with exactly: HELLO ACP. Do not use any tools."); said != "HELLO ACP." || stop != "end_turn" {
			t.Errorf("the first turn said %q and ended with %q", said, stop)
		}
		// The second turn loads what the process holds: the history comes again.
		before := p.count()
		if said, _ := p.turn("history"); !strings.HasPrefix(said, "turns=1 ") {
			t.Errorf("the second turn knows %q", said)
		}
		load := p.must(before, "a load's answer", func(l line) bool { return l.Get("result.modes").Exists() })
		if replay := spoken(p.since(before, load)); !strings.Contains(replay, "HELLO ACP.") {
			t.Errorf("the load replayed %q", replay)
		}

		prompt, from := p.begin("stream 100000 every 2ms")
		p.must(from, "a first delta", isUpdate("agent_message_chunk"))
		p.abort(prompt)
		if said, stop := p.turn("config"); said != "model="+piModel+" mode=yolo" || stop != "end_turn" {
			t.Errorf("after the abort: %q, %q", said, stop)
		}
		if said, _ := p.turn("history"); !strings.Contains(said, "last=config") || strings.HasPrefix(said, "turns=1 ") {
			t.Errorf("after the abort the session knows %q", said)
		}

		// An abort while a command runs: 1.2.1 would wait for the command.
		prompt, from = p.begin("command 60s")
		p.must(from, "the tool", func(l line) bool { return l.Get("params.update.status").Str == "in_progress" })
		p.abort(prompt)
		// The permission is answered with the first option that allows; from
		// 1.1.1 on one that allows for ever is offered as well.
		p.mode = "auto_edit"
		_, from = p.begin("ask 1ms")
		at := p.must(from, "a permission request", func(l line) bool { return l.Get("method").Str == "session/request_permission" })
		if first := p.line(at).Get("params.options.0"); first.Get("kind").Str != "allow_once" {
			t.Errorf("pi would choose %s", first.Raw)
		}
		p.answerTo(p.prompts[len(p.prompts)-1][0])

		p.check()
		var usage []string
		for _, l := range p.since(0, -1) {
			if u := l.Get("params.update"); u.Exists() && usageKeys.MatchString(u.Raw) {
				usage = append(usage, u.Get("sessionUpdate").Str)
			}
		}
		if reports := build == "1.3.0"; reports != (len(usage) > 0) {
			t.Errorf("usage in %q of build %s", usage, build)
		}
		p.leave()
		if text := p.errText(); len(text) > 8<<10 {
			t.Errorf("%d bytes of stderr: pi keeps the last 8 KiB", len(text))
		}
	})
}

// TestPiAborts what no build honours a cancel for, and a turn that has shown
// nothing yet, one after the other in one run.
func TestPiAborts(t *testing.T) {
	eachBuild(t, func(t *testing.T, build string) {
		s := newStage(t)
		p := s.pi(s.shim, "ACP_SHIM_AGENT="+strings.Join(s.sim(build), " "))
		if _, stop := p.turn("remember me"); stop != "end_turn" {
			t.Fatalf("the first turn ended with %q", stop)
		}
		for _, text := range []string{"hang", "wedge"} {
			prompt, from := p.begin(text)
			if text == "wedge" {
				p.must(from, "its text", func(l line) bool { return strings.Contains(spoken(p.since(from, -1)), "nobody will hear") })
			}
			p.abort(prompt)
			if said, _ := p.turn("history"); !strings.HasPrefix(said, "turns=") || strings.HasPrefix(said, "turns=0") {
				t.Errorf("after the abort of %s the session knows %q", text, said)
			}
		}
		p.check()
		p.leave()
	})
}

// TestPiNextRun: the next run of pi, with a model that it does not set, and one
// that it does.
func TestPiNextRun(t *testing.T) {
	s := newStage(t)
	agent := "ACP_SHIM_AGENT=" + strings.Join(s.sim("rc01"), " ")
	p := s.pi(s.shim, agent)
	p.turn("the first run")
	p.leave()

	next := s.pi(s.shim, agent)
	next.session = p.session
	if said, _ := next.turn("history"); said != "turns=1 last=the first run" {
		t.Errorf("the next run knows %q", said)
	}
	if said, _ := next.turn("config"); said != "model="+piModel+" mode=yolo" {
		t.Errorf("the next run has %q", said)
	}
	next.check()
	next.leave()
}

// TestPiCrash: an agent that dies in a turn, and pi goes on with the session.
func TestPiCrash(t *testing.T) {
	for _, how := range []string{"crash 3", "crash SIGKILL"} {
		t.Run(strings.ReplaceAll(how, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pi(s.shim, "ACP_SHIM_AGENT="+strings.Join(s.sim("1.2.1"), " "))
			p.turn("before it")
			prompt, _ := p.begin(how)
			r := p.answerTo(prompt)
			want := map[string]string{"crash 3": "exit code 3", "crash SIGKILL": "SIGKILL"}[how]
			if message := r.Get("error.message").Str; !strings.Contains(message, want) {
				t.Errorf("the prompt was answered %s, which does not say %q", r.Raw, want)
			}
			if said, _ := p.turn("history"); said != "turns=1 last=before it" {
				t.Errorf("after the crash the session knows %q", said)
			}
			p.check()
			p.leave()
		})
	}
}

// TestPiIsKilled, with a turn and its tool running, so that nobody can put
// anything in order.
func TestPiIsKilled(t *testing.T) {
	s := newStage(t)
	p := s.pi(s.shim, "ACP_SHIM_AGENT="+strings.Join(s.sim("1.3.0"), " "))
	_, from := p.begin("command 60s")
	p.must(from, "the tool", func(l line) bool { return l.Get("params.update.status").Str == "in_progress" })
	p.awaitErr("started tool")
	if n := len(s.alive()); n < 3 && haveProc() {
		t.Fatalf("%d processes run: %v", n, s.alive())
	}
	p.signal(syscall.SIGKILL)
	killed := time.Now()
	p.wait()
	if left := s.gone(time.Until(killed.Add(slowly(time.Second)))); len(left) > 0 {
		t.Errorf("a second after the kill there is still %v", left)
	}
	t.Logf("nothing left after %v", time.Since(killed).Round(time.Millisecond))
}

// TestPiReachesTheAgent: what pi writes is what the agent reads, but for the id
// that makes a cancel unknown to it.
func TestPiReachesTheAgent(t *testing.T) {
	s := newStage(t)
	seen := filepath.Join(s.home, "seen")
	// The agent is found where pi's installation puts it.
	dir := filepath.Join(s.home, ".local", "opt", "agy-acp", "current")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ntee %s | %s sim --build 1.3.0 \"$@\"\n", seen, s.shim)
	for name, text := range map[string]string{"agy_acp_server.par": script, "localharness_external": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := s.pi(s.shim)
	p.turn("Grüße, \\\"quoted\\\" and \\u0041 \\ud83d\\ude00")
	prompt, from := p.begin("stream 100000 every 2ms")
	p.must(from, "a first delta", isUpdate("agent_message_chunk"))
	p.abort(prompt)
	p.turn("history")
	p.check()
	p.leave()

	got, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(p.written(), fmt.Sprintf(`"id":%d,`, p.cancels[0]), "")
	if string(got) != want {
		t.Errorf("the agent read\n%s\nnot\n%s", got, want)
	}
}
