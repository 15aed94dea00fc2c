package proxy_test

import (
	"fmt"
	"time"
)

// situation is what is going on when a cancel comes, and what comes right
// behind it.
type situation struct {
	name string
	play func(r *row)
	// agents is how many processes there may be; 0 for as many as by default.
	agents int
	// byRequest cancels by $/cancel_request, which has no id.
	byRequest bool
}

// during has a turn run that is like this, and then a cancel.
func during(turn string, then func(r *row)) func(r *row) {
	return func(r *row) {
		r.talked()
		r.runs(turn)
		r.cancel()
		if then != nil {
			then(r)
		}
	}
}

const allow = `"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`

var situations = []situation{
	{name: "text-streams", play: during("stream", nil)},
	{name: "tool-open", play: during("tool", nil)},
	{name: "permission-cancelled-before", play: func(r *row) {
		r.talked()
		r.runs("permission")
		r.ownEnd = true // which the agent may come to by that alone
		r.reply(r.askedFor("session/request_permission"), `"result":{"outcome":{"outcome":"cancelled"}}`)
		r.cancel()
	}},
	{name: "permission-cancelled-at-once", play: during("permission", func(r *row) {
		r.reply(r.askedFor("session/request_permission"), `"result":{"outcome":{"outcome":"cancelled"}}`)
	})},
	{name: "permission-allowed-late", play: during("permission", func(r *row) {
		r.run(100 * time.Millisecond)
		r.reply(r.askedFor("session/request_permission"), allow)
	})},
	{name: "permission-allowed-in-the-next-turn", play: during("permission", func(r *row) {
		id := r.askedFor("session/request_permission")
		r.ends()
		r.follows()
		r.reply(id, allow)
	})},
	{name: "permission-never-answered", play: during("permission", nil)},
	{name: "file-open", play: during("file", func(r *row) {
		r.run(100 * time.Millisecond)
		r.reply(r.askedFor("fs/read_text_file"), `"result":{"content":"x"}`)
	})},
	{name: "terminal-open", play: during("terminal", nil)},
	{name: "before-initialize-is-answered", play: func(r *row) {
		r.stored()
		r.initialize()
		r.load()
		r.victim("stream")
		r.cancel()
	}},
	{name: "before-session-new-is-answered", play: func(r *row) {
		r.await(r.initialize())
		id := r.request("session/new", `{"cwd":"/w","mcpServers":[]}`)
		r.session = "s1"
		r.cancel()
		r.await(id)
	}},
	{name: "restore/starting", play: func(r *row) {
		r.talked()
		r.crash()
		r.victim("stream")
		r.run(startTakes / 2)
		r.cancel()
	}},
	{name: "restore/loading", play: func(r *row) {
		r.talked()
		r.crash()
		r.victim("stream")
		r.until("the load", r.sentTo(2, "session/load"))
		r.cancel()
	}},
	{name: "restore/setting", play: func(r *row) {
		r.talked()
		r.crash()
		r.victim("stream")
		r.until("the settings", r.sentTo(2, "session/set_mode"))
		r.cancel()
	}},
	{name: "restore/prompt-behind", play: func(r *row) {
		r.talked()
		r.crash()
		r.victim("stream")
		r.until("the load", r.sentTo(2, "session/load"))
		r.cancel()
		r.follows()
	}},
	{name: "clients-load/before-it-is-sent", play: func(r *row) {
		r.await(r.initialize())
		r.stored()
		r.load()
		r.victim("stream")
		r.cancel()
	}},
	{name: "clients-load/sent", play: func(r *row) {
		r.await(r.initialize())
		r.stored()
		r.load()
		r.victim("stream")
		r.until("the load", r.sentTo(1, "session/load"))
		r.cancel()
	}},
	{name: "clients-load/of-what-is-live", play: func(r *row) {
		r.talked()
		r.load()
		r.victim("stream")
		r.cancel()
	}},
	{name: "clients-load/held-behind-the-turn", play: func(r *row) {
		r.talked()
		r.runs("stream")
		r.load()
		r.cancel()
	}},
	{name: "close/behind-the-cancel", play: during("tool", func(r *row) { r.closes("session/close") })},
	{name: "close/alone", play: func(r *row) {
		r.talked()
		r.began[r.runs("tool")] = r.now
		r.closes("session/close")
	}},
	{name: "close/before-the-cancel", play: func(r *row) {
		r.talked()
		r.began[r.runs("permission")] = r.now
		id := r.request("session/close", r.named())
		r.cancel()
		r.await(id)
		r.opensAgain()
	}},
	{name: "close/alone-while-a-prompt-waits-for-the-restore", play: func(r *row) {
		r.talked()
		r.crash()
		r.began[r.victim("stream")] = r.now
		r.until("the load", r.sentTo(2, "session/load"))
		r.closes("session/close")
	}},
	{name: "close/alone-while-a-prompt-waits-for-the-clients-load", play: func(r *row) {
		r.await(r.initialize())
		r.stored()
		r.load()
		r.began[r.victim("stream")] = r.now
		r.closes("session/close")
	}},
	{name: "close/behind-the-next-prompt", play: during("stream", func(r *row) {
		r.run(time.Second + 20*time.Millisecond)
		r.began[r.victim("stream")] = r.now
		r.closes("session/close")
	})},
	{name: "setting/behind-the-cancel", play: during("stream", (*row).sets)},
	{name: "setting/while-the-process-ends", play: during("stream", func(r *row) {
		r.run(time.Second + 20*time.Millisecond)
		r.sets()
	})},
	{name: "delete/behind-the-cancel", play: during("stream", func(r *row) { r.closes("session/delete") })},
	{name: "delete/alone", play: func(r *row) {
		r.talked()
		r.began[r.runs("stream")] = r.now
		r.closes("session/delete")
	}},
	{name: "logout/in-the-turn", play: func(r *row) {
		r.talked()
		r.replaced = true
		r.runs("stream")
		// It goes to the process that may be ended for the cancel, and is then
		// answered with what became of that.
		r.tolerated[r.request("logout", `{}`)] = true
		r.cancel()
	}},
	{name: "logout/behind-the-cancel", play: during("stream", func(r *row) {
		r.replaced = true
		r.tolerated[r.request("logout", `{}`)] = true
		r.follows()
	})},
	{name: "twice", play: during("tool", func(r *row) {
		r.cancel()
		r.run(2 * time.Millisecond)
		r.cancel()
	})},
	{name: "twice/while-the-process-ends", play: during("stream", func(r *row) {
		r.run(time.Second + 20*time.Millisecond)
		r.cancel()
	})},
	{name: "twice/with-a-prompt-between", play: during("stream", func(r *row) {
		r.victim("stream")
		r.cancel()
	})},
	{name: "after-the-end", play: func(r *row) {
		r.talked()
		r.cancel()
	}},
	{name: "after-the-end/prompt-behind", play: func(r *row) {
		r.talked()
		r.cancel()
		r.follows()
	}},
	{name: "unknown-session", play: func(r *row) {
		r.talked()
		r.runs("stream")
		r.cancels("nobody's")
		r.run(100 * time.Millisecond)
		if r.open[r.victims[0]] == "" || r.condemned() {
			r.fail("another session's turn was cancelled")
		}
		r.cancel()
	}},
	{name: "prompt-behind", play: during("tool", (*row).follows)},
	{name: "prompt-behind/permission-open", play: during("permission", (*row).follows)},
	{name: "prompts-held", play: func(r *row) {
		r.talked()
		r.runs("stream")
		r.victim("hello")
		r.victim("hello")
		r.cancel()
	}},
	{name: "prompts-held/prompt-behind", play: func(r *row) {
		r.talked()
		r.runs("stream")
		r.victim("hello")
		r.cancel()
		r.follows()
	}},
	{name: "first-turn", play: func(r *row) {
		r.opened()
		r.runs("tool")
		r.cancel()
	}},
	{name: "first-turn/prompt-behind", play: func(r *row) {
		r.opened()
		r.runs("permission")
		r.cancel()
		r.follows()
	}},
	{name: "first-turn/and-the-first-of-the-one-made-anew", play: func(r *row) {
		r.opened()
		r.runs("stream")
		r.cancel()
		r.ends()
		r.runs("tool")
		r.cancel()
	}},
	{name: "again-in-the-next-turn", play: during("stream", func(r *row) {
		r.ends()
		r.runs("permission")
		r.cancel()
	})},
	{name: "by-the-id-of-the-prompt", byRequest: true, play: func(r *row) {
		r.talked()
		id := r.runs("tool")
		r.began[id] = r.now
		r.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, id))
	}},
	{name: "waits-for-a-process", agents: 1, play: func(r *row) {
		r.talked()
		mine := r.session
		r.replaced = true
		other := r.await(r.request("session/new", `{"cwd":"/w","mcpServers":[]}`)).Get("result.sessionId").Str
		busy := r.prompt(other, "stream")
		r.until("its turn", r.saw(`"turn":"`+busy+`"`))
		r.session = mine
		r.victim("stream")
		r.run(100 * time.Millisecond)
		r.cancel()
		r.ends()
		r.follows()
		r.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, other))
		r.await(busy)
	}},
	{name: "another-session-streams", play: func(r *row) {
		r.talked()
		mine := r.session
		r.session = r.await(r.request("session/new", `{"cwd":"/w","mcpServers":[]}`)).Get("result.sessionId").Str
		other := r.prompt(r.session, "stream")
		r.session = mine
		r.runs("stream")
		r.cancel()
		r.ends()
		r.follows()
		r.await(r.next)
		r.undisturbed(other)
	}},
}

// sentTo tells that a process was sent such a request.
func (r *row) sentTo(gen int, method string) func() bool {
	return func() bool {
		for _, e := range r.log {
			if e.to == name(gen) && e.frame.Get("method").Str == method && e.frame.Get("id").Exists() {
				return true
			}
		}
		return false
	}
}

// closes ends the session in the middle of what goes on, and opens it again, or
// another one where it is deleted.
func (r *row) closes(method string) {
	r.replaced = true
	id := r.request(method, r.named())
	r.await(id)
	r.opensAgain()
}

func (r *row) opensAgain() {
	r.replaced = true
	r.ends()
	// What was set is known to the state directory, which is not here.
	r.model, r.kind = "default", "default"
	if id := r.load(); r.store[r.session] > 0 {
		r.await(id)
		return
	} else {
		r.tolerated[id] = true
		if r.await(id).Get("error.code").Int() == 0 {
			r.fail("what was deleted was opened again")
		}
	}
	r.turns = false
	r.session = r.await(r.request("session/new", `{"cwd":"/w","mcpServers":[]}`)).Get("result.sessionId").Str
}

// sets changes the mode, which the next turn must have. An agent that dies by
// itself before it has said that it has it, has not.
func (r *row) sets() {
	id := r.request("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"auto_edit"}`, r.session))
	r.tolerated[id] = r.outcome.name == "dies"
	r.ends()
	if r.await(id).Get("result").Exists() {
		r.kind = "auto_edit"
	}
}

// undisturbed checks that a turn of another session has gone on all the time.
func (r *row) undisturbed(prompt string) {
	chunk, since := 0, r.now
	for _, e := range r.log {
		if e.from == "client" && e.frame.Get("id").Raw == prompt {
			since = e.at
		}
		if e.to == "client" && e.frame.Get("params.turn").Str == prompt {
			chunk++
			if text := e.frame.Get("params.update.content.text").Str; text != fmt.Sprint("chunk ", chunk) {
				r.fail("the other session said %q where chunk %d was due", text, chunk)
			}
		}
	}
	if want := int((r.now - since) / chunkEvery); chunk < want {
		r.fail("the other session said %d chunks, at least %d were due", chunk, want)
	}
	if r.open[prompt] == "" {
		r.fail("the turn of the other session was ended")
	}
	r.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, "s2"))
	r.await(prompt)
}
