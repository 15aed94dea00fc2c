package proxy_test

import "time"

// The rest of the world of the random schedules: what starts and ends, and time.

func (o *oracle) systemEvent() {
	switch o.IntN(5) {
	case 0, 1:
		if list := o.players(func(a *player) bool { return !a.running }); len(list) > 0 {
			o.start(list[o.IntN(len(list))], o.IntN(12) == 0)
		}
	case 2:
		if list := o.players(func(a *player) bool { return a.condemned && (a.killed || !a.ignores) }); len(list) > 0 {
			o.gone(list[o.IntN(len(list))])
		}
	case 3:
		o.claim(o.IntN(10) == 0)
	case 4:
		if d, ok := o.w.Next(); ok && o.IntN(3) == 0 {
			o.note("%s pass", d)
			o.w.Advance(d)
		} else {
			o.w.Advance(time.Duration(o.IntN(200)) * time.Millisecond)
		}
	}
}

func (o *oracle) start(a *player, failed bool) {
	if failed {
		o.gone(a)
		return
	}
	o.note("started %d", a.gen)
	a.running = true
	o.w.Started(a.gen)
}

func (o *oracle) claim(refused bool) {
	if len(o.claims) == 0 {
		return
	}
	id := o.claims[0]
	o.claims = o.claims[1:]
	failure := ""
	if refused {
		failure = "in use"
	}
	o.note("claimed %s %s", id, failure)
	o.w.Claimed(id, failure)
}

func (o *oracle) event() {
	switch k := o.IntN(10); {
	case k < 3:
		o.clientEvent()
	case k < 7:
		o.agentEvent()
	default:
		o.systemEvent()
	}
}

// calm lets everybody do what is asked of them, and time pass. Then nothing may
// be open any more.
func (o *oracle) calm() {
	o.note("--- calm")
	if !o.begun && !o.beginning() {
		o.request("initialize", `{"protocolVersion":1}`)
	}
	for range 400 {
		if len(o.failures) > 0 {
			return
		}
		if !o.settleOne() {
			if len(o.open) == 0 {
				break
			}
			d, ok := o.w.Next()
			if !ok {
				break
			}
			o.note("%s pass", d)
			o.w.Advance(d)
		}
	}
	for id, method := range o.open {
		o.fail("%s (%s %s) has no answer, and nothing will bring one; its session is %s", id, method, o.prompts[id], o.w.State(o.prompts[id]))
	}
}

// settleOne does one thing that somebody waits for.
func (o *oracle) settleOne() bool {
	if len(o.claims) > 0 {
		o.claim(false)
		return true
	}
	if list := o.players(func(a *player) bool { return !a.running }); len(list) > 0 {
		o.start(list[0], false)
		return true
	}
	if list := o.players(func(a *player) bool { return a.condemned }); len(list) > 0 {
		o.gone(list[0])
		return true
	}
	if list := o.players(func(a *player) bool { return a.next(0) >= 0 }); len(list) > 0 {
		o.answer(list[0], list[0].next(0), true)
		return true
	}
	if len(o.asked) > 0 {
		o.clientAnswer()
		return true
	}
	return false
}

// end ends the client's input; by the end of all processes every request has an
// answer, and the books are empty.
func (o *oracle) end() {
	if len(o.failures) > 0 {
		return
	}
	o.note("--- end of input")
	o.over = true
	o.w.EOF()
	for range 400 {
		if o.finished || len(o.failures) > 0 {
			break
		}
		if !o.settleOne() {
			d, ok := o.w.Next()
			if !ok {
				break
			}
			o.w.Advance(d)
		}
	}
	if !o.finished {
		o.fail("it does not end")
	}
	for id, method := range o.open {
		o.fail("%s (%s) has no answer at the end", id, method)
	}
	if requests, _, _ := o.w.Books(); requests > 0 {
		o.fail("%d requests are on the books at the end", requests)
	}
}
