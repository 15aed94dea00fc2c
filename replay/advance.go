package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/internal/wire"
)

// advance plays what is due, and returns when something will be that does not
// wait for the client, the zero time if nothing.
func (e *engine) advance(now time.Time) (next time.Time) {
	for {
		var best *run
		var bestDue time.Time
		next = time.Time{}
		for _, r := range e.active {
			it, due, ok := e.head(r)
			switch {
			case !ok:
			case due.After(now):
				if next.IsZero() || due.Before(next) {
					next = due
				}
			case best == nil || e.before(it, due, best.b.steps[best.next].item, bestDue):
				best, bestDue = r, due
			}
		}
		e.active = slices.DeleteFunc(e.active, func(r *run) bool { return r.next == len(r.b.steps) })
		if best == nil {
			return next
		}
		e.say(best, bestDue)
	}
}

// before orders what is due by time, where a speed is asked for, and then as
// recorded.
func (e *engine) before(a int32, at time.Time, b int32, bt time.Time) bool {
	if e.s.opt.Speed > 0 && !at.Equal(bt) {
		return at.Before(bt)
	}
	return a < b
}

// head passes what a run has no more to wait for, and gives the item that it says
// next. It reports false where the run waits for the client, or is over.
func (e *engine) head(r *run) (it int32, due time.Time, ok bool) {
	if e.queued(r) {
		return 0, due, false
	}
	for ; r.next < len(r.b.steps); r.next++ {
		st := r.b.steps[r.next]
		var came time.Time
		switch st.kind {
		case send, cutOff:
			return st.item, e.due(r, st.item), true
		case awaitAnswer:
			if came, ok = r.got[e.s.items.at(st.item).link]; !ok {
				return 0, due, false
			}
		case awaitCancel:
			if len(r.cancels) == 0 {
				return 0, due, false
			}
			came, r.cancels = r.cancels[0], r.cancels[1:]
		case awaitCancelRequest:
			if len(r.stops) == 0 {
				return 0, due, false
			}
			came, r.stops = r.stops[0], r.stops[1:]
		}
		if came.After(r.at) {
			r.at = came
		}
		r.last = e.s.items.at(st.item).t
	}
	return 0, due, false
}

// queued tells that a turn has to wait for another one of its session. Agents run
// one at a time; where two were recorded at the same time, they are played so.
func (e *engine) queued(r *run) bool {
	if r.b.method != acp.AgentMethodSessionPrompt || r.in == nil || r.next > 0 {
		return false
	}
	for _, o := range e.active {
		if o == r {
			break
		}
		if o.in == r.in && o.b.method == r.b.method && o.b.answered && o.next < len(o.b.steps) {
			together := r.b.trigger > o.b.trigger && r.b.trigger < o.b.steps[len(o.b.steps)-1].item
			if !together {
				return true
			}
		}
	}
	return false
}

func (e *engine) due(r *run, it int32) time.Time {
	if e.s.opt.Speed <= 0 {
		return r.at
	}
	return r.at.Add(time.Duration(float64(max(e.s.items.at(it).t-r.last, 0)) / e.s.opt.Speed))
}

func (e *engine) say(r *run, due time.Time) {
	st := r.b.steps[r.next]
	i := st.item
	it := e.s.items.at(i)
	r.next++
	r.at, r.last = due, it.t
	if r.next == len(r.b.steps) {
		for _, o := range e.active {
			if o.in == r.in && o.next == 0 && o.at.Before(due) && o.b.method == acp.AgentMethodSessionPrompt {
				o.at = due // it may have waited for this one
			}
		}
	}
	if st.kind == cutOff {
		e.reply(errorAnswer(r.id, codeInternal, fmt.Sprintf("acp-shim replay: the recording ends before the answer to %s of line %d", r.method, e.s.number(r.b)), nil))
		return
	}
	if it.kind == wire.Request {
		id := it.id
		if _, taken := e.asked[id]; taken {
			for ; taken; e.freshID++ {
				id = strconv.FormatInt(e.freshID, 10)
				_, taken = e.asked[id]
			}
			if r.ids == nil {
				r.ids = map[int32]string{}
			}
			r.ids[i] = id
		}
		e.asked[id] = question{r, i}
	}
	at := int32(r.next - 1)
	if n := len(e.queue); n > 0 && e.queue[n-1].r == r && e.queue[n-1].last == at-1 {
		e.queue[n-1].last = at
		return
	}
	e.queue = append(e.queue, saying{r: r, first: at, last: at})
}

// pop is the next line that is said, nil for none.
func (e *engine) pop() ([]byte, error) {
	if len(e.queue) == 0 {
		return nil, nil
	}
	x := e.queue[0]
	if x.first < x.last {
		e.queue[0].first++
	} else {
		e.queue[0] = saying{}
		if e.queue = e.queue[1:]; len(e.queue) == 0 {
			e.queue = nil
		}
	}
	if x.r == nil {
		e.own -= len(x.line)
		return x.line, nil
	}
	i := x.r.b.steps[x.first].item
	line, err := e.s.line(i)
	if err != nil {
		return nil, err
	}
	it := e.s.items.at(i)
	id, renamed := x.r.ids[i]
	if it.kind == wire.Response && x.r.id != "" && it.link == x.r.b.trigger {
		id, renamed = x.r.id, true
	}
	if renamed && id != it.id {
		line = withID(line, id)
	}
	return x.r.changes.json(line), nil
}

// withID puts another id into a frame.
func withID(line []byte, id string) []byte {
	var m wire.Message
	m.Parse(line)
	if !m.ID.Found() {
		return line
	}
	out := make([]byte, 0, len(line)+len(id))
	out = append(out, line[:m.ID.Off]...)
	out = append(out, id...)
	return append(out, line[m.ID.End:]...)
}

// changes lead the recorded names over to the client's: those of the run's session,
// or, outside of all, those of all.
func (e *engine) changes(r *run) (list changes) {
	add := func(c *change) {
		if c != nil && !slices.ContainsFunc(list, func(x *change) bool { return x.from == c.from }) {
			list = append(list, c)
		}
	}
	if r.cwd != "" {
		add(newPaths(r.b.cwd, r.cwd))
	}
	with := func(in *instance) {
		add(newSession(in.session, in.live))
		if in.liveCwd != "" {
			add(newPaths(in.cwd, in.liveCwd))
		}
	}
	switch {
	case r.b.method == acp.AgentMethodSessionFork && r.in != nil:
		for _, in := range e.sorted() {
			if in.parent == r.in && in.session == r.b.made {
				with(in)
				break
			}
		}
		with(r.in)
	case r.in != nil:
		with(r.in)
	default:
		for _, in := range e.sorted() {
			with(in)
		}
	}
	return list
}

// sorted are the sessions in an order that is always the same.
func (e *engine) sorted() []*instance {
	list := make([]*instance, 0, len(e.instances))
	for _, in := range e.instances {
		list = append(list, in)
	}
	slices.SortFunc(list, func(a, b *instance) int { return cmp.Compare(a.live, b.live) })
	return list
}
