package proxy_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/cancelshim"
	"acp-shim/proxy"
)

// standing brings session a into a state. A state that a session goes through in
// steps that differ has a standing for each: restoring/starting, and so on.
type standing struct {
	name  string
	set   func(s proxy.Script)
	agent int    // the process that holds it
	owes  string // the answer that this process owes, to be
	timer string // what runs out there
	dead  int    // the process that dies; agent unless told
}

const (
	loadA    = `{"id":5,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`
	closeA   = `{"id":5,"method":"session/close","params":{"sessionId":"a"}}`
	endTurn6 = `{"id":6,"result":{"stopReason":"end_turn"}}`
)

func talked(s proxy.Script) {
	s.Client(`{"id":3,"method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`)
	s.Agent(1, `{"id":3,"result":{}}`)
	s.Client(prompt(2))
	s.Agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
}

// then is one thing after another.
func then(steps ...func(proxy.Script)) func(proxy.Script) {
	return func(s proxy.Script) {
		for _, f := range steps {
			f(s)
		}
	}
}

func says(text string) func(proxy.Script) { return func(s proxy.Script) { s.Client(text) } }
func crashed(s proxy.Script)              { s.Gone(1, proxy.Exit{Words: "exited with code 3"}) }
func started2(s proxy.Script)             { s.Started(2) }
func booted2(s proxy.Script)              { s.Booted(2) }
func claimed(s proxy.Script)              { s.Claimed("a") }

// own is an answer to the last request of the shim's own.
func own(gen int, body string) func(proxy.Script) {
	return func(s proxy.Script) { s.Agent(gen, fmt.Sprintf(`{"id":"acp-shim/n/%d",%s}`, s.Own(), body)) }
}

// booted is the answer to the initialize of a process that is to restore.
const booted = `"result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`

const refused = `"error":{"code":-32603,"message":"no","data":null}`

func standings() []standing {
	cold := then(talked, crashed)
	running := then(talked, says(prompt(6)))
	cancelling := then(running, says(cancelNotice))
	killing := then(cancelling, func(s proxy.Script) { s.Fire("grace a") })
	starting := then(cold, says(prompt(6)), started2)
	loading := then(starting, booted2)
	return []standing{
		{name: "cold", set: cold, timer: "idle a"},
		{name: "opening/unclaimed", set: says(loadA), agent: 1, timer: "load a"},
		{name: "opening", set: then(says(loadA), claimed), agent: 1, owes: `{"id":5,"result":{}}`, timer: "load a"},
		{name: "opening/live", set: then(talked, says(loadA)), agent: 1, owes: `{"id":5,"result":{}}`, timer: "load a"},
		{name: "idle", set: talked, agent: 1, timer: "idle a"},
		{name: "idle/closing", set: then(talked, says(closeA)), agent: 1, owes: `{"id":5,"result":{}}`, timer: "idle a"},
		{name: "running", set: running, agent: 1, owes: endTurn6},
		{name: "running/cancelling", set: cancelling, agent: 1, owes: endTurn6, timer: "grace a"},
		{name: "killing", set: killing, agent: 1, owes: endTurn6, timer: "stuck 1"},
		{name: "stuck", set: then(killing, func(s proxy.Script) { s.Ladder(1); s.Hopeless(1) }), agent: 1, owes: endTurn6},
		{name: "restoring/starting", set: starting, agent: 2, owes: booted, timer: "start 2"},
		{name: "restoring/loading", set: loading, agent: 2, owes: `"result":{}`, timer: "load a"},
		{name: "restoring/setting", set: then(loading, own(2, `"result":{}`)), agent: 2, owes: `"result":{}`, timer: "load a"},
		{name: "failed", set: then(loading, own(2, refused), own(2, refused)), dead: 2, timer: "idle a"},
		{name: "gone", set: then(talked, says(closeA), func(s proxy.Script) { s.Agent(1, `{"id":5,"result":{}}`) }), dead: 1},
	}
}

// events are what can come to a session.
var events = []string{"prompt", "cancel", "cancel-id", "load", "resume", "close", "delete", "set", "answer", "update", "ask", "dead", "timer"}

// classes says under which event a method of the core's is played; those of the
// connection, and what only opens a session, have none.
var classes = map[string]string{
	"mPrompt": "prompt", "mCancel": "cancel", "mLoad": "load", "mResume": "resume", "mClose": "close", "mDelete": "delete",
	"mSetMode": "set", "mSetConfig": "set", "mSetModel": "set", "mUpdate": "update",
	"mInitialize": "-", "mAuthenticate": "-", "mLogout": "-", "mNew": "-", "mFork": "-", "mList": "-", "mCancelRequest": "-",
}

// happens plays an event; false where there is nothing that could be.
func (p standing) happens(s proxy.Script, event string) bool {
	ask := func(id int, method, more string) {
		s.Client(fmt.Sprintf(`{"id":%d,"method":"session/%s","params":{"sessionId":"a"%s}}`, id, method, more))
	}
	speaks := p.agent
	if speaks == 0 {
		speaks = max(p.dead, 1)
	}
	switch event {
	case "prompt":
		s.Client(prompt(20))
	case "cancel":
		s.Client(cancelNotice)
	case "cancel-id":
		ask(21, "cancel", "")
	case "load", "resume":
		ask(22, event, `,"cwd":"/w"`)
	case "close", "delete":
		ask(24, event, "")
	case "set":
		ask(26, "set_config_option", `,"configId":"model","value":"m"`)
	case "answer":
		switch {
		case p.owes == "":
			return false
		case p.owes[0] == '"':
			own(p.agent, p.owes)(s)
		default:
			s.Agent(p.agent, p.owes)
		}
	case "update":
		s.Agent(speaks, chunk)
	case "ask":
		s.Agent(speaks, `{"id":7,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	case "dead":
		if p.agent+p.dead == 0 {
			return false
		}
		s.Gone(max(p.agent, p.dead), proxy.Exit{Words: "exited with code 3"})
	case "timer":
		if p.timer == "" {
			return false
		}
		s.Expire(p.timer)
	}
	return true
}

// short is an effect in the words of the table.
func short(effect string) string {
	to, text, frame := strings.Cut(effect, "< ")
	if !frame {
		word, rest, _ := strings.Cut(effect, " ")
		if word == "save" {
			return "save " + gjson.Get(rest, "id").Str
		}
		return effect
	}
	m := gjson.Parse(text)
	id := m.Get("id").Raw
	if strings.Contains(id, "acp-shim/") {
		id = "own"
	}
	what := m.Get("method").Str
	switch result := m.Get("result"); {
	case what != "":
		what = strings.TrimPrefix(what, "session/")
		if kind := m.Get("params.update.sessionUpdate").Str; kind != "" {
			what = kind
		}
	case m.Get("error").Exists():
		what = "error " + m.Get("error.code").Raw
	case result.Get("stopReason").Exists():
		what = result.Get("stopReason").Str
	case result.Get("outcome.outcome").Exists():
		what = "outcome " + result.Get("outcome.outcome").Str
	default:
		what = result.Raw
	}
	return strings.Join(strings.Fields(to+"< "+id+" "+what), " ")
}

// became is the state of session a in the words of the table.
func became(s proxy.Script) string {
	if a := s.Session("a"); a != nil {
		return a.State().String()
	}
	return "gone"
}

// changed tells which timers an event has armed and stopped.
func changed(before, after map[string]time.Duration) (list []string) {
	for k, d := range after {
		if _, ok := before[k]; !ok {
			list = append(list, fmt.Sprintf("+%s %v", k, d))
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			list = append(list, "-"+k)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i][1:] < list[j][1:] })
	return list
}

// played is what came of an event in a state: the new state, then what was done.
func played(t *testing.T, p standing, event string) (got string, ok bool) {
	s := proxy.Begun(t, proxy.Options{
		Chain: []proxy.Interceptor{cancelshim.New(cancelshim.Options{})}, IdleTimeout: time.Hour,
		Policy: func([]byte) proxy.Policy { return proxy.Policy{Exclusive: true, DropNoise: true} },
	})
	if !strings.HasPrefix(p.name, "opening") || p.name == "opening/live" {
		s.Client(`{"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		s.Agent(1, `{"id":1,"result":{"sessionId":"a"}}`)
		s.Claimed("a")
	}
	p.set(s)
	if state, _, _ := strings.Cut(p.name, "/"); became(s) != state {
		t.Fatalf("the session is %s, want %s", became(s), state)
	}
	all := slices.Clone(s.Output())
	s.Forget()
	before := s.Timers()
	if !p.happens(s, event) {
		return "", false
	}
	list := []string{}
	for _, effect := range s.Output() {
		list = append(list, short(effect))
	}
	list = append(list, changed(before, s.Timers())...)
	got = became(s) + ": " + strings.Join(list, "; ")
	s.End()
	onceEach(t, event, append(all, s.Output()...))
	if left := s.Requests(); left != "" {
		t.Errorf("without an answer at the end: %s", left)
	}
	return strings.TrimSpace(got), true
}

// onceEach: whatever has happened, nothing is answered twice, and at the end
// nothing is left.
func onceEach(t *testing.T, event string, effects []string) {
	answers := map[string]int{}
	for _, e := range effects {
		if text, ok := strings.CutPrefix(e, "client< "); ok && !gjson.Get(text, "method").Exists() {
			answers[gjson.Get(text, "id").Raw]++
		}
	}
	for id, n := range answers {
		if n > 1 {
			t.Errorf("%s was answered %d times", id, n)
		}
	}
	if id := asksAs[event]; id != "" && answers[id] != 1 {
		t.Errorf("%s was answered %d times", id, answers[id])
	}
}

// asksAs are the ids of the requests that events are.
var asksAs = map[string]string{"prompt": "20", "cancel-id": "21", "load": "22", "resume": "22", "close": "24", "delete": "24", "set": "26"}

// TestStateTable plays every event in every state and holds what comes of it
// against the table.
func TestStateTable(t *testing.T) {
	for _, p := range standings() {
		for i, event := range events {
			t.Run(p.name+"/"+event, func(t *testing.T) {
				row := cells()[p.name]
				if len(row) != len(events) {
					t.Fatalf("%s has %d cells for %d events", p.name, len(row), len(events))
				}
				got, ok := played(t, p, event)
				if why, not := strings.CutPrefix(row[i], "never: "); not {
					if ok {
						t.Errorf("it can be after all (%s): %s", why, got)
					}
					return
				}
				if got != row[i] {
					t.Errorf("\n got %s\nwant %s", got, row[i])
				}
			})
		}
	}
}

// TestStateTableIsWhole fails when a state, a method or a timer is added that
// the table knows nothing of.
func TestStateTableIsWhole(t *testing.T) {
	stands := map[string]bool{}
	for _, p := range standings() {
		state, _, _ := strings.Cut(p.name, "/")
		stands[state] = true
	}
	for _, state := range proxy.AllStates() {
		if !stands[state] {
			t.Errorf("no rows for the state %s", state)
		}
	}
	for name := range cells() {
		if state, _, _ := strings.Cut(name, "/"); !stands[state] {
			t.Errorf("cells for %s, which nothing stands for", name)
		}
	}
	for _, name := range constants(t, "methods.go") {
		if class, ok := classes[name]; name[0] == 'm' && (!ok || class != "-" && !slices.Contains(events, class)) {
			t.Errorf("%s is under no event", name)
		}
	}
	timers := slices.DeleteFunc(constants(t, "effects.go"), func(name string) bool { return !strings.HasPrefix(name, "timer") })
	if names := proxy.TimerNames(); len(names) != len(timers) || slices.Contains(names, "") {
		t.Errorf("the timers %q have the names %q", timers, names)
	}
	// The table for readers has the same states.
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for state := range stands {
		if !strings.Contains(string(doc), "\n//\t"+state+" ") {
			t.Errorf("doc.go has no row for %s", state)
		}
	}
}

// constants are the names of the constants of a file.
func constants(t *testing.T, file string) (names []string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				for _, n := range spec.(*ast.ValueSpec).Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
