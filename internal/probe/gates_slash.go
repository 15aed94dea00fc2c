package probe

import (
	"slices"
	"strings"
)

func slashGates() []*gate {
	return []*gate{{id: "F.7", title: "slash commands", session: true,
		criterion: "commands are not expanded in the text of a prompt", source: seed, run: slash}}
}

// slash sends /plan where the agent offers it and no other command: any other may
// do anything, and /logout deletes the login (seed, phase 2).
func slash(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	// The list comes behind the answer to session/new. An agent has none, or needs
	// a moment: what any request takes.
	t.ask(p, "session/list", "{}")
	var names []string
	for _, x := range p.updates(id, 0, -1) {
		if x.kind == "available_commands_update" {
			names = nil
			for _, c := range x.body.Get("availableCommands").Array() {
				names = append(names, clip(c.Get("name").Str, 60))
			}
			t.prove(p, x.index)
		}
	}
	t.fact("commands", "%s", strings.Join(names, ", "))
	if len(names) == 0 {
		t.pass("the agent offers no commands")
	}
	if !slices.Contains(names, "plan") {
		t.skip(WhyNotOffered, "it offers %s; only plan is harmless enough to be tried", clip(strings.Join(names, ", "), 200))
	}
	t.needLive()
	u := t.prompt(p, id, askCommand)
	a := u.wait()
	t.prove(p, u.call.Index, a.Index)
	said, calls := u.said(), u.tools()
	if a.Error.Exists() {
		t.fail("the prompt was answered with %s", describe(a.Error))
	}
	if len(calls) == 0 && holds(said, "SLASH") && len(said) < 40 {
		t.pass("a leading /plan reaches the model as text")
	}
	t.fact("intercepted", "yes")
	if len(calls) > 0 {
		t.prove(p, calls[0].first)
	}
	t.fallback("a leading /plan is carried out by the agent: keep command-looking lines away from a prompt's beginning")
}
