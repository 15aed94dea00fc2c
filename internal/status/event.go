package status

import (
	"github.com/tidwall/gjson"

	"acp-shim/proxy"
)

// Event counts an event and keeps the last ones. Lines of an agent's stderr, and
// kinds that nobody has heard of, may say anything and are not kept.
func (b *Board) Event(e *proxy.Event) {
	switch e.Kind {
	case "spawn", "exit", "condemn", "cancel", "restore", "stall", "note":
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.opt.Clock().UTC()
	switch e.Kind {
	case "spawn":
		b.now.Counts.Starts++
		b.alive[e.Agent] = &Process{Agent: e.Agent, PID: int(gjson.GetBytes(e.Data, "pid").Int()), Started: at}
	case "condemn":
		b.now.Counts.Kills++
		b.condemn[e.Agent] = true
	case "exit":
		if !b.condemn[e.Agent] && b.alive[e.Agent] != nil {
			b.now.Counts.Crashes++
		}
		delete(b.alive, e.Agent)
		delete(b.condemn, e.Agent)
	case "restore":
		b.restored(e)
	}
	if len(b.now.Events) >= eventsMax {
		b.now.Events = append(b.now.Events[:0], b.now.Events[1:]...)
	}
	b.now.Events = append(b.now.Events, Event{At: at, Kind: e.Kind, Agent: e.Agent, Session: clip(e.Session), Text: clip(e.Text)})
	b.changed()
}

func (b *Board) restored(e *proxy.Event) {
	if e.Text == "begins" || e.Text == "failed" {
		return
	}
	b.now.Counts.Restores++
	s := b.sessions[clip(e.Session)]
	if s == nil || s.Agent == e.Agent {
		return
	}
	if s.Agent != 0 {
		s.Reconnects++
		b.now.Counts.Reconnects++
	}
	s.Agent = e.Agent
}
