package probe

import (
	"slices"
	"strings"
)

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
	seen := slices.Clone(t.tape.usage)
	t.tape.mu.Unlock()
	if len(seen) == 0 {
		t.fact("usage", "absent")
		t.fallback("no frame has a figure of tokens: usage is zero, and documented so")
	}
	var list []string
	for _, s := range seen {
		t.addProof(s.proof)
		list = append(list, s.frame+" "+s.path)
	}
	slices.Sort(list)
	t.fact("usage", "%s", strings.Join(list, ", "))
	t.pass("in %s", strings.Join(list, ", "))
}
