package proxy_test

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// plays acts out a turn, by the text of its prompt.
func (a *actor) plays(t *act, text string) {
	switch text {
	case "stream": // until something ends it
		a.stream(t)
	case "hello": // ends well
		a.say(t, "hello")
		a.p.after(answerTakes, a.settle(t, "end_turn"))
	case "config": // what the process knows of the session
		s := a.sessions[t.session]
		a.p.after(answerTakes, func() {
			if !t.over {
				a.say(t, fmt.Sprintf("model=%s mode=%s turns=%d", s.model, s.mode, s.turns))
				a.end(t, `"result":{"stopReason":"end_turn"}`)
			}
		})
	case "tool": // one call is open, one has ended
		for _, id := range []string{"done", "open"} {
			a.tool(t, "tool_call", id, "pending")
			a.tool(t, "tool_call_update", id, "in_progress")
		}
		a.tool(t, "tool_call_update", "done", "completed")
		a.stream(t)
	case "permission":
		a.tool(t, "tool_call", "asked", "pending")
		a.ask(t, "session/request_permission", `,"options":[{"optionId":"allow","kind":"allow_once"},{"optionId":"deny","kind":"reject_once"}]`, a.hears(t))
	case "file":
		a.ask(t, "fs/read_text_file", `,"path":"/x"`, a.hears(t))
	case "terminal": // a command in the client's terminal
		a.ask(t, "terminal/create", `,"command":"x"`, func(m gjson.Result) {
			if id := m.Get("result.terminalId"); id.Exists() {
				a.ask(t, "terminal/wait_for_exit", `,"terminalId":`+id.Raw, a.hears(t))
			}
		})
	default:
		a.p.fail("nobody can play %q", text)
	}
}

// stream says something every now and then.
func (a *actor) stream(t *act) {
	if t.over || t.mute || a.ended {
		return
	}
	t.chunks++
	a.say(t, fmt.Sprint("chunk ", t.chunks))
	a.p.after(chunkEvery, func() { a.stream(t) })
}

// hears takes the client's answer to something that the turn waited for, and
// goes on: an agent that ignores a cancel takes it for a no.
func (a *actor) hears(t *act) func(gjson.Result) {
	return func(m gjson.Result) {
		if m.Get("result.outcome.optionId").Str == "allow" {
			a.p.fail("the agent was told of an allow after the cancel")
		}
		if a.p.outcome.yields {
			a.end(t, `"result":{"stopReason":"end_turn"}`)
			return
		}
		a.stream(t)
	}
}
