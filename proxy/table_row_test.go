package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// row is one cell of the table of cancels: what an agent makes of one, and what
// is going on when it comes.
type row struct {
	*stage
	mode   string
	withID bool

	session     string
	model, kind string // the settings that the next turn must have; kind is the mode
	turns       bool   // the next turn must know of an earlier one
	victims     []string
	began       map[string]time.Duration // when the cancel of a victim came
	asks        []string                 // cancels that want an answer
	next        string
	tolerated   map[string]bool // requests that may be answered with an error
	ownEnd      bool            // the agent may end the turn by itself
	replaced    bool            // a process may be replaced whatever the agent does
}

func newRow(t *testing.T, mode string, withID bool, o outcome, agents int) *row {
	return &row{
		stage: newStage(t, mode, o, agents), mode: mode, withID: withID,
		model: "default", kind: "default", began: map[string]time.Duration{}, tolerated: map[string]bool{},
	}
}

func (r *row) named() string { return fmt.Sprintf(`{"sessionId":%q}`, r.session) }

func (r *row) initialize() string { return r.request("initialize", `{"protocolVersion":1}`) }

// opened has a session whose model and mode are set, and in which no turn has
// ended.
func (r *row) opened() {
	r.await(r.initialize())
	r.session = r.await(r.request("session/new", `{"cwd":"/w","mcpServers":[]}`)).Get("result.sessionId").Str
	r.await(r.request("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"m2"}`, r.session)))
	r.await(r.request("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"yolo"}`, r.session)))
	r.model, r.kind = "m2", "yolo"
}

// talked has a session in which a turn has ended.
func (r *row) talked() {
	r.opened()
	r.await(r.prompt(r.session, "hello"))
	r.turns = true
}

// stored is a session of an earlier run.
func (r *row) stored() {
	r.session = "s0"
	r.store["s0"] = 1
	r.turns = true
}

func (r *row) load() string {
	return r.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","mcpServers":[]}`, r.session))
}

// victim sends a prompt that is to be cancelled.
func (r *row) victim(text string) string {
	id := r.prompt(r.session, text)
	r.victims = append(r.victims, id)
	return id
}

// runs sends a prompt that is to be cancelled and waits until its turn is where
// it shall be.
func (r *row) runs(text string) string {
	id := r.victim(text)
	tag := fmt.Sprintf(`"turn":%q`, id)
	what := map[string]string{
		"stream": "agent_message_chunk", "tool": "agent_message_chunk", "permission": "session/request_permission",
		"file": "fs/read_text_file", "terminal": "terminal/create",
	}[text]
	r.until(text, r.saw(what, tag))
	if text == "terminal" {
		r.reply(r.askedFor("terminal/create"), `"result":{"terminalId":"term-1"}`)
		r.until(text, r.saw("terminal/wait_for_exit", tag))
	}
	return id
}

// askedFor is the id of the agent's open request for this.
func (r *row) askedFor(method string) string {
	for id, m := range r.asked {
		if m.Get("method").Str == method {
			return id
		}
	}
	r.fail("nobody asks for %s", method)
	return "0"
}

// cancel is the one that the row is about.
func (r *row) cancel() { r.cancels(r.session) }

func (r *row) cancels(session string) {
	for _, id := range r.victims {
		if _, ok := r.began[id]; !ok && session == r.session {
			r.began[id] = r.now
		}
	}
	params := fmt.Sprintf(`{"sessionId":%q}`, session)
	if r.withID {
		r.asks = append(r.asks, r.request("session/cancel", params))
	} else {
		r.notify("session/cancel", params)
	}
}

// ends waits until what was cancelled is answered.
func (r *row) ends() {
	for _, id := range append(append([]string(nil), r.victims...), r.asks...) {
		r.await(id)
	}
}

// follows sends the next prompt.
func (r *row) follows() { r.next = r.prompt(r.session, "config") }

// crash has the process of the session die by itself.
func (r *row) crash() {
	for _, a := range r.actors {
		if a.sessions[r.session] != nil && !a.ended {
			a.gone("exited with code 3")
		}
	}
	r.replaced = true
}

// condemned tells that a process was told to end.
func (r *row) condemned() bool {
	for _, e := range r.log {
		if e.from == "shim" && strings.HasPrefix(e.text, "(end of input") {
			return true
		}
	}
	return false
}

// TestCancelTable is every outcome of a cancel in every situation. What always
// comes out is the judge's; a row that fails prints what passed.
func TestCancelTable(t *testing.T) {
	for _, mode := range []string{"auto", "known", "emulate", "native"} {
		for _, o := range outcomes {
			if mode == "native" && !o.ends {
				continue // nothing is promised there
			}
			for _, s := range situations {
				for _, withID := range []bool{false, true} {
					if withID && s.byRequest {
						continue
					}
					name := fmt.Sprintf("%s/%s/%s", mode, o.name, s.name)
					if withID {
						name += "-with-an-id"
					}
					t.Run(name, func(t *testing.T) { playRow(t, mode, withID, o, s) })
				}
			}
		}
	}
}

func playRow(t *testing.T, mode string, withID bool, o outcome, s situation) {
	r := newRow(t, mode, withID, o, s.agents)
	defer func() {
		if p := recover(); p != nil && p != (gaveUp{}) {
			r.fail("panic: %v", p)
		}
		if len(r.wrong) > 0 {
			t.Errorf("%s\n%s", strings.Join(r.wrong, "\n"), r.transcript())
		}
	}()
	s.play(r)
	r.ends()
	if r.next == "" {
		r.follows()
	}
	r.await(r.next)
	r.run(time.Minute)
	r.judge()
}
