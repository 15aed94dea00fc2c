package proxy

import (
	"fmt"
	"sort"
	"time"
)

// What the table of states needs to see of a core.

// AllStates are the names of all states, in order.
func AllStates() (names []string) {
	defer func() { recover() }() // behind the last one there is no name
	for s := State(0); ; s++ {
		names = append(names, s.String())
	}
}

var timerNames = map[timerKind]string{
	timerChain: "chain", timerTerm: "term", timerKill: "kill", timerStuck: "stuck", timerStart: "start", timerLoad: "load",
	timerIdle: "idle", timerEnd: "end", timerCrash: "crash", timerBlocked: "blocked", timerAnswer: "hang",
}

// TimerNames are the kinds of timers by their names.
func TimerNames() (names []string) {
	for k := timerKind(0); k <= timerAnswer; k++ {
		names = append(names, timerNames[k])
	}
	return names
}

func (k timerKey) text() string {
	text := timerNames[k.kind]
	switch {
	case k.kind == timerChain:
		return k.name
	case k.name != "":
		return text + " " + k.name
	case k.gen > 0:
		return fmt.Sprint(text, " ", k.gen)
	}
	return text
}

// Timers are what is armed.
func (s Script) Timers() map[string]time.Duration {
	all := map[string]time.Duration{}
	for k, d := range s.timers {
		all[k.text()] = d
	}
	return all
}

// Expire lets a timer run out, by its text.
func (s Script) Expire(text string) {
	s.t.Helper()
	for k := range s.timers {
		if k.text() == text {
			s.fire(k)
			return
		}
	}
	s.t.Fatalf("no timer %q", text)
}

// End ends the shim at once; every process is gone.
func (s Script) End() {
	s.core.terminate(0, "a signal")
	var gens []int
	for _, a := range s.core.agents {
		gens = append(gens, a.gen)
	}
	sort.Ints(gens)
	for _, gen := range gens {
		s.core.gone(gen, Exit{Words: "exited with code 0"})
	}
}
