package proxy_test

import (
	"fmt"
	"sort"

	"acp-shim/proxy"
)

// The agents of the random schedules.

func (o *oracle) players(f func(*player) bool) []*player {
	var list []*player
	for _, a := range o.agents {
		if !a.gone && f(a) {
			list = append(list, a)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].gen < list[j].gen })
	return list
}

// say has a process say something; must tells that the client has to get it now.
func (o *oracle) say(a *player, tag, line string, must bool) {
	o.note("agent%d> %s", a.gen, line)
	o.live, o.arrived = "", false
	if tag != "" {
		if a.silenced {
			o.dead[tag] = true
		} else if must {
			o.live = tag
		}
	}
	o.w.Agent(a.gen, line)
	if o.live != "" && !o.arrived {
		o.fail("%s of process %d did not reach the client", tag, a.gen)
	}
	o.live = ""
}

func (o *oracle) tag() string { o.tags++; return fmt.Sprintf("tag%d", o.tags) }

// answer has a process answer one of its requests.
func (o *oracle) answer(a *player, i int, well bool) {
	c := a.requests[i]
	a.requests = append(a.requests[:i:i], a.requests[i+1:]...)
	body := `"result":{}`
	refuse := `"error":{"code":-32603,"message":"no","data":null}`
	switch c.method {
	case "initialize":
		body = `"result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`
		if a.broken = o.begun && !well && o.IntN(6) == 0; a.broken {
			body = refuse
		}
	case "session/new":
		if !well && o.IntN(6) == 0 {
			body = refuse
			break
		}
		o.sessions++
		id := fmt.Sprintf("s%d", o.sessions)
		o.exist[id], a.holds[id] = true, true
		body = fmt.Sprintf(`"result":{"sessionId":%q}`, id)
	case "session/load", "session/resume":
		delete(a.loading, c.session)
		if !o.exist[c.session] || !well && o.IntN(6) == 0 {
			body = refuse
			break
		}
		if !a.holds[c.session] && len(a.holds) > 0 && !o.relay {
			o.fail("process %d holds two sessions", a.gen)
		}
		a.holds[c.session] = true
	case "session/close", "session/delete":
		delete(a.holds, c.session)
		if c.method == "session/delete" {
			delete(o.exist, c.session)
		}
	case "session/prompt":
		switch {
		case !a.holds[c.session]:
			body = refuse
		case !well && o.IntN(5) == 0:
			body = refuse
		default:
			body = `"result":{"stopReason":"end_turn"}`
		}
	case "session/set_mode":
		if !a.holds[c.session] || !well && o.IntN(4) == 0 {
			body = refuse
		}
	}
	o.say(a, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, c.id, body), false)
}

func (o *oracle) agentEvent() {
	all := o.players(func(a *player) bool { return a.running })
	if len(all) == 0 {
		return
	}
	a := all[o.IntN(len(all))]
	switch k := o.IntN(20); {
	case k < 8:
		if len(a.requests) > 0 {
			if i := a.next(o.IntN(len(a.requests))); i >= 0 {
				o.answer(a, i, false)
			}
		}
	case k < 13:
		for _, c := range a.requests {
			if c.method == "session/prompt" && a.holds[c.session] {
				tag := o.tag()
				o.say(a, tag, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"tag":%q,"prompt":%s}}`, c.session, tag, c.id), !o.answered[c.id])
				return
			}
		}
	case k < 15:
		for s := range a.holds {
			a.asks++
			tag := o.tag()
			id := a.asks % 3
			o.say(a, tag, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":%q,"tag":%q}}`, id, s, tag), false)
			return
		}
	case k < 16:
		o.say(a, "", []string{`{"jsonrpc":"2.0","id":` + stray + `,"result":{}}`, "noise", `{"half`, ""}[o.IntN(4)], false)
	case k < 17:
		if c := a.requests; len(c) > 0 && o.IntN(3) == 0 {
			o.note("too long from %d: the answer to %s", a.gen, c[0].id)
			a.broken = true
			if !a.silenced {
				a.requests = c[1:]
				delete(a.loading, c[0].session)
				o.w.TooLong(a.gen, `{"jsonrpc":"2.0","id":`+c[0].id+`,"result":{"x":"`)
			}
		}
	case k < 18:
		if o.IntN(3) == 0 {
			o.gone(a)
		}
	case k < 19:
		if o.IntN(4) == 0 {
			a.broken = true
			if o.IntN(2) == 0 {
				o.note("output of %d ended", a.gen)
				o.w.OutputEnded(a.gen)
			} else {
				o.note("input of %d ended", a.gen)
				o.w.InputEnded(a.gen)
			}
		}
	}
}

func (o *oracle) gone(a *player) {
	o.note("gone %d", a.gen)
	a.gone = true
	o.w.Gone(a.gen, proxy.Exit{Words: "exited with code 1", Failed: !a.running})
}
