package probe

import (
	"fmt"
	"slices"
	"time"
)

func startGates() []*gate {
	return []*gate{
		{id: "E", title: "start", phase: first,
			criterion: "cold start under 5 s", source: seed, run: startTime},
		{id: "E.memory", title: "memory and processes", phase: first,
			criterion: "a resident size that is sane for a long-lived process: under 1 GiB with a session", source: seed, run: memory},
	}
}

// coldLimit is the seed's.
const coldLimit = 5 * time.Second

// startTime takes the first start of the probe for the cold one, though the
// system may have the file in its cache, and two more for warm ones.
func startTime(t *trial) {
	var warm []time.Duration
	for range 2 {
		p := t.fresh(offers{})
		warm = append(warm, p.took)
		t.prove(p, 0)
	}
	slices.Sort(warm)
	t.took("cold", t.cold)
	t.took("warm", warm[0])
	if seq := t.spawned[t.greeted.gen]; seq > 0 {
		t.addProof(Proof{seq, "shim", "spawn"})
	}
	text := fmt.Sprintf("cold %s, warm %s, to the answer to initialize", coarse(t.cold), coarse(warm[0]))
	if t.cold >= coldLimit {
		t.fallback("%s: start a process for a group of turns, not for each", text)
	}
	t.pass("%s", text)
}

const memoryLimit = 1 << 30

func memory(t *trial) {
	p := t.borrow()
	a := t.answer(p, "session/new", t.newParams("[]"))
	list, ok := family(t.opt.RunID, p.gen, p.conn.Process.Pid)
	if !ok {
		t.skip(WhySystem, "this system does not tell it here")
	}
	var all int64
	for _, m := range list {
		all += m.rss
	}
	t.number("rss", float64(all), "bytes")
	t.number("processes", float64(len(list)), "count")
	with := "with a session"
	if a.Error.Exists() {
		with = "without a session"
	}
	text := fmt.Sprintf("%d MiB in %s, %s", all>>20, processes(len(list)), with)
	t.fact("processes", "%d %s", len(list), with)
	t.prove(p, a.Index)
	if all > memoryLimit {
		t.fallback("%s: end processes that are idle", text)
	}
	t.pass("%s", text)
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
