package proxy

import (
	"log/slog"
	"time"
)

// World has a core in its hands and a clock that goes on by hand. What the core
// does goes to the functions; a timer fires when the clock passes it.
type World struct {
	ToClient   func(line string)
	ToAgent    func(gen int, line string)
	Spawn      func(gen int)
	CloseInput func(gen int)
	Discard    func(gen int)
	Terminate  func(gen int)
	Kill       func(gen int)
	Claim      func(id string)
	Finished   func()

	core *Core
	now  time.Duration
	seq  int
	due  map[timerKey]alarm
}

type alarm struct {
	at  time.Duration
	seq int
}

// NewWorld begins before the first event.
func NewWorld(opt Options) *World {
	w := &World{due: map[timerKey]alarm{}}
	opt.Strict, opt.Nonce = true, "n"
	w.core = newCore(worldEffects{w}, opt)
	return w
}

func (w *World) Start()                     { w.core.start() }
func (w *World) Client(line string)         { w.core.client([]byte(line + "\n")) }
func (w *World) Agent(gen int, line string) { w.core.agentLine(gen, []byte(line+"\n")) }
func (w *World) Started(gen int)            { w.core.started(gen, 100+gen) }
func (w *World) Gone(gen int, e Exit)       { w.core.gone(gen, e) }
func (w *World) OutputEnded(gen int)        { w.core.outputEnded(gen) }
func (w *World) InputEnded(gen int)         { w.core.inputEnded(gen) }
func (w *World) Claimed(id, failure string) { w.core.claimed(id, nil, failure) }
func (w *World) EOF()                       { w.core.clientEOF() }
func (w *World) State(id string) string     { return sessionState(w.core, id) }
func (w *World) HeldBytes() int             { return w.core.heldSize }
func (w *World) Books() (requests, asked, own int) {
	return w.core.requests.n, w.core.asked.n, len(w.core.own)
}
func (w *World) TooLong(gen int, head string) { w.core.agentTooLong(gen, []byte(head), 1<<20) }

func (s Script) TooLong(gen int, head string) { s.core.agentTooLong(gen, []byte(head), 1<<20) }

func sessionState(c *Core, id string) string {
	if s := c.sessions[id]; s != nil {
		return s.state.String()
	}
	return "unknown"
}

// Next is how long it is until the next timer, and whether there is one.
func (w *World) Next() (time.Duration, bool) {
	_, a, ok := w.first()
	return a.at - w.now, ok
}

func (w *World) first() (best timerKey, at alarm, ok bool) {
	for k, a := range w.due {
		if !ok || a.at < at.at || a.at == at.at && a.seq < at.seq {
			best, at, ok = k, a, true
		}
	}
	return best, at, ok
}

// Advance lets time pass, and every timer fire that is due by then.
func (w *World) Advance(d time.Duration) {
	until := w.now + d
	for {
		k, a, ok := w.first()
		if !ok || a.at > until {
			break
		}
		w.now = max(w.now, a.at)
		delete(w.due, k)
		w.core.timer(k)
	}
	w.now = until
}

type worldEffects struct{ w *World }

func (e worldEffects) toClient(line []byte)         { e.w.ToClient(string(line)) }
func (e worldEffects) toAgent(gen int, line []byte) { e.w.ToAgent(gen, string(line)) }
func (e worldEffects) spawn(gen int)                { e.w.Spawn(gen) }
func (e worldEffects) closeInput(gen int)           { e.w.CloseInput(gen) }
func (e worldEffects) discard(gen int) int          { e.w.Discard(gen); return 0 }
func (e worldEffects) unsent(int) int               { return 0 }
func (e worldEffects) terminate(gen int)            { e.w.Terminate(gen) }
func (e worldEffects) kill(gen int)                 { e.w.Kill(gen) }
func (e worldEffects) arm(k timerKey, d time.Duration) {
	e.w.seq++
	e.w.due[k] = alarm{e.w.now + d, e.w.seq}
}
func (e worldEffects) disarm(k timerKey)              { delete(e.w.due, k) }
func (e worldEffects) rest(k timerKey)                { delete(e.w.due, k) }
func (e worldEffects) claim(id string)                { e.w.Claim(id) }
func (e worldEffects) save(Record)                    {}
func (e worldEffects) release(string)                 {}
func (e worldEffects) recall()                        {}
func (e worldEffects) forget(string)                  {}
func (e worldEffects) finished(int)                   { e.w.Finished() }
func (e worldEffects) log(slog.Level, string, ...any) {}
