package probe

import (
	"cmp"
	"fmt"
	"strings"

	"acp-shim/internal/wire"
)

func modelGates() []*gate {
	const config = acp + "session-config-options"
	return []*gate{
		{id: "A", title: "model and mode switch", session: true,
			criterion: "set_config_option (or equivalent) switches both; the next prompt uses them", source: seed, run: switchBoth},
		{id: "A.names", title: "set_config_option, other names", session: true,
			criterion: "the parameter is configId; another name is refused", source: config, run: optionNames},
		{id: "A.set_model", title: "session/set_model", session: true,
			criterion: "an older way to choose the model: it answers, and the model is the one", source: "acp-go-sdk v0.13.5, SetSessionModel (unstable)", run: olderModel},
		{id: "A.set_mode", title: "session/set_mode", session: true,
			criterion: "it answers, and the mode is the one", source: acp + "session-modes", run: olderMode},
		{id: "A.kept", title: "kept across a restart", session: true, live: true,
			criterion: "a session that is loaded in another process has the model and mode that were chosen", source: "seed, reference, run 6", run: keptChoice},
	}
}

// choose chooses a value, in the best way that the session has.
func (t *trial) choose(p *peer, id string, what string, c choice, value string) {
	method, params := "session/set_mode", setMode(id, value)
	if what == "model" {
		method, params = "session/set_model", setModel(id, value)
	}
	if c.option {
		method, params = "session/set_config_option", setOption(id, c.id, value)
	}
	from := len(p.conn.Lines(0))
	call := p.conn.Request(method, params)
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	if a.Error.Exists() {
		t.fact(what, "%s is refused", method)
		t.fail("the %s cannot be chosen by %s: %s", what, method, describe(a.Error))
	}
	t.took(what, a.Took())
	if !c.option {
		return
	}
	// The answer has all options (the schema's SetSessionConfigOptionResponse);
	// some agents only tell of the change in an update.
	got := choicesOf(a.Result).of(what).current
	if got == "" {
		for _, u := range p.updates(id, from, -1) {
			if u.kind == "config_option_update" {
				got = choicesOf(u.body).of(what).current
			}
		}
	}
	if got != value {
		t.fail("%s was answered, and the %s is %q instead of %q", method, what, clip(got, 60), clip(value, 60))
	}
}

func switchBoth(t *trial) {
	p := t.borrow()
	id, made := t.session(p)
	c := choicesOf(made)
	var done, lacks []string
	for _, one := range []struct {
		what string
		c    choice
	}{{"model", c.model}, {"mode", c.mode}} {
		value := one.c.other()
		if value == "" {
			lacks = append(lacks, one.what)
			continue
		}
		t.choose(p, id, one.what, one.c, value)
		how := "set_" + one.what
		if one.c.option {
			how = "set_config_option"
		}
		t.fact(one.what, "by %s", how)
		done = append(done, fmt.Sprintf("%s %s → %s by %s", one.what, clip(one.c.current, 40), clip(value, 40), how))
	}
	if len(done) == 0 {
		t.skip(WhyNotOffered, "the agent offers no models and no modes to choose from")
	}
	text := strings.Join(done, "; ")
	if t.opt.Live {
		u := t.prompt(p, id, askModel)
		said := u.finish()
		t.prove(p, u.call.Index, u.answer.Index)
		text += fmt.Sprintf("; asked for its model it says %q", clip(tidy(said), 60))
		seen := "not seen"
		switch model := c.model.other(); {
		case model == "":
		case holds(said, model):
			seen = "seen"
		case holds(said, c.model.current):
			t.fact("effect in the answer", "it names the model before")
			t.fail("%s", text)
		}
		t.fact("effect in the answer", "%s", seen)
	}
	if len(lacks) > 0 {
		t.fallback("%s; it offers no choice of %s", text, strings.Join(lacks, " and "))
	}
	if !t.opt.Live {
		text += "; whether the next prompt uses them was not tried"
	}
	t.pass("%s", text)
}

// optionNames tries the names that documents and clients have used for configId.
func optionNames(t *trial) {
	p := t.borrow()
	id, made := t.session(p)
	c := choicesOf(made)
	o := c.mode
	if !o.option {
		o = c.model
	}
	if !o.option {
		t.skip(WhyNotOffered, "the agent has no configOptions")
	}
	var taken, said []string
	for _, name := range []string{"configOptionId", "optionId"} {
		call := p.conn.Request("session/set_config_option",
			`{"sessionId":`+wire.Quote(id)+`,"`+name+`":`+wire.Quote(o.id)+`,"value":`+wire.Quote(o.current)+`}`)
		a := t.await(p, call, t.opt.Timeout)
		t.prove(p, call.Index, a.Index)
		if !a.Error.Exists() {
			taken = append(taken, name)
			t.fact(name, "taken")
			continue
		}
		t.fact(name, "refused: %s", describe(a.Error))
		said = append(said, fmt.Sprintf("%s: %s", name, describe(a.Error)))
	}
	if len(taken) > 0 {
		t.fallback("it also takes %s, which other builds may not: say configId", strings.Join(taken, ", "))
	}
	t.pass("%s", strings.Join(said, "; "))
}

func olderModel(t *trial) {
	older(t, "model", "session/set_model", setModel)
}

func olderMode(t *trial) {
	older(t, "mode", "session/set_mode", setMode)
}

func older(t *trial, what, method string, params func(session, value string) string) {
	p := t.borrow()
	id, made := t.session(p)
	c := choicesOf(made).of(what)
	value := c.other()
	if value == "" {
		t.skip(WhyNotOffered, "the agent offers no choice of %s", what)
	}
	call := p.conn.Request(method, params(id, value))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	switch {
	case missing(a) && c.option:
		t.fallback("%s is not known; set_config_option is the way", method)
	case a.Error.Exists():
		t.fail("%s is refused: %s", method, describe(a.Error))
	}
	text := fmt.Sprintf("%s → %s", clip(c.current, 60), clip(value, 60))
	got := t.nowChosen(p, id, call.Index, what, choicesOf(made))
	t.fact("seen in the options", "%s", map[bool]string{true: "yes", false: "no"}[got == value])
	switch got {
	case value:
		t.pass("%s", text)
	case "":
		t.pass("%s, by its answer; nothing else tells", text)
	}
	t.fail("%s is answered, and the %s is %q instead of %q", method, what, clip(got, 60), clip(value, 60))
}

// nowChosen asks a session for its model or mode, "" where it does not tell: an
// answer to set_config_option has all options, so that the other one is set to
// what it is; and a change of the mode is told in an update.
func (t *trial) nowChosen(p *peer, id string, from int, what string, c choices) string {
	mine, other := c.mode, c.model
	if what == "model" {
		mine, other = c.model, c.mode
	}
	if mine.option && other.option {
		a := t.answer(p, "session/set_config_option", setOption(id, other.id, other.current))
		if got := choicesOf(a.Result).of(what).current; got != "" {
			t.prove(p, a.Index)
			return got
		}
	}
	got := ""
	for _, u := range p.updates(id, from, -1) {
		switch {
		case u.kind == "config_option_update":
			got = cmp.Or(choicesOf(u.body).of(what).current, got)
		case u.kind == "current_mode_update" && what == "mode":
			got = cmp.Or(u.body.Get("currentModeId").Str, got)
		default:
			continue
		}
		t.prove(p, u.index)
	}
	return got
}

func keptChoice(t *trial) {
	p := t.fresh(offers{})
	if !p.can("loadSession") {
		t.skip(WhyNotOffered, "the agent offers no session/load")
	}
	id, made := t.session(p)
	c := choicesOf(made)
	wanted := map[string][2]string{}
	for what, one := range map[string]choice{"model": c.model, "mode": c.mode} {
		if value := one.other(); value != "" {
			t.choose(p, id, what, one, value)
			wanted[what] = [2]string{one.current, value}
		}
	}
	if len(wanted) == 0 {
		t.skip(WhyNotOffered, "the agent offers no models and no modes to choose from")
	}
	t.tell(p, id, askHello)
	p.end(softEnd)
	next := t.fresh(offers{})
	opened, a := t.result(next, "session/load", t.again(id))
	t.res.Proofs = nil
	t.prove(next, a.Index)
	now := choicesOf(opened)
	var kept, lost []string
	for _, what := range []string{"model", "mode"} {
		w, ok := wanted[what]
		if !ok {
			continue
		}
		got := now.of(what).current
		t.fact(what, "%s", map[bool]string{true: "kept", false: "not kept"}[got == w[1]])
		if got == w[1] {
			kept = append(kept, what)
		} else {
			lost = append(lost, fmt.Sprintf("%s is %s again", what, clip(got, 60)))
		}
	}
	if len(lost) > 0 {
		t.fallback("%s: to be chosen again after each restart", strings.Join(lost, ", "))
	}
	t.pass("%s", strings.Join(kept, " and "))
}
