package probe

import "strings"

func usageGates() []*gate {
	return []*gate{{id: "B", title: "usage anywhere", session: true, live: true, phase: last,
		criterion: "any update or _meta carries token counts", source: seed, run: anyUsage}}
}

// anyUsage looks into all frames of all processes, this turn's included.
func anyUsage(t *trial) {
	p := t.borrow()
	id, _ := t.session(p)
	t.tell(p, id, askHello)
	// Figures may come with the answer, or behind it.
	t.ask(p, "session/close", of(id))
	t.tape.mu.Lock()
	seen := t.tape.usage
	t.tape.mu.Unlock()
	if len(seen) == 0 {
		t.fact("usage", "absent")
		t.fallback("no frame has a figure of tokens: usage is zero, and documented so")
	}
	names := map[string]bool{}
	var list []string
	for _, s := range seen {
		name := clip(s.frame, 60) + " " + clip(s.path, 60)
		t.addProof(s.proof)
		if !names[name] {
			names[name] = true
			list = append(list, name)
		}
	}
	t.fact("usage", "%s", strings.Join(list, ", "))
	t.pass("in %s", strings.Join(list, ", "))
}
