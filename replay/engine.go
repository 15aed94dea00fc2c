package replay

import (
	"strconv"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// engine decides what the recorded agent says to what its client said. It does no
// I/O but reading the script, and knows the time only as it is told.
type engine struct {
	s         *Script
	outside   ledger // of what belongs to no session
	instances map[string]*instance
	conn      int32 // whose block was played last
	active    []*run
	asked     map[string]question // the agent's requests that wait, by their id
	freshID   int64
	queue     []saying
	own       int // bytes of sayings that are no places in the recording
	misses    int
}

// instance is a session of the client's that plays a recorded one.
type instance struct {
	ledger
	session string // as recorded
	live    string // as the client has it
	cwd     string // as recorded, "" where it is not known
	liveCwd string
	parent  *instance // of a fork
}

// run is a block that is being played.
type run struct {
	b       *block
	in      *instance // nil for none
	id      string    // of the client's request
	method  string    // of the client's frame
	cwd     string    // that it names
	changes changes   // to what it says
	next    int       // step
	at      time.Time // when the last step was due
	last    time.Duration
	got     map[int32]time.Time // the agent's requests that were answered
	ids     map[int32]string    // of those that had to be given another id
	cancels []time.Time
	stops   []time.Time // by a $/cancel_request
}

// question is a request of the agent's that waits for its answer.
type question struct {
	r    *run
	item int32
}

// saying is what is said next: steps of a run, or a line of the player's own.
type saying struct {
	r           *run
	first, last int32
	line        []byte
}

func (e *engine) init(s *Script, now time.Time) {
	*e = engine{s: s, outside: newLedger(), instances: map[string]*instance{}, asked: map[string]question{}, freshID: 1 << 30}
	for _, b := range s.blocks {
		if b.method == prelude {
			e.start(&run{b: b, at: now})
			break // what other processes began with is theirs
		}
	}
	e.advance(now)
}

func (e *engine) start(r *run) {
	if r.b.trigger >= 0 {
		r.last = e.s.items.at(r.b.trigger).t
	} else if len(r.b.steps) > 0 {
		r.last = e.s.items.at(r.b.steps[0].item).t
	}
	r.got = map[int32]time.Time{}
	r.changes = e.changes(r)
	e.active = append(e.active, r)
}

func (e *engine) reply(line []byte) {
	e.queue = append(e.queue, saying{line: line})
	e.own += len(line)
}

// client takes a line of the client's.
func (e *engine) client(line []byte, now time.Time) error {
	var m wire.Message
	m.Parse(line)
	switch m.Kind {
	case wire.Blank:
		return nil
	case wire.Response:
		e.answered(&m, now)
		return nil
	case wire.Request, wire.Notification:
		return e.begun(&m, now)
	}
	a := ask{method: notMessage, params: line[wire.Space(line, 0):]}
	if b, err := e.s.find(&e.outside, a); err != nil || b != nil {
		if b != nil {
			e.play(b, nil, &run{at: now})
		}
		return err
	}
	e.missed(Miss{})
	if wire.Valid(line) {
		e.reply(errorAnswer("null", codeInvalid, "Invalid Request", nil))
	} else {
		e.reply(errorAnswer("null", codeParse, "Parse error", nil))
	}
	return nil
}

func (e *engine) missed(m Miss) {
	if m.Request && !m.Silent {
		e.misses++
	}
	if e.s.opt.Missed != nil {
		e.s.opt.Missed(m)
	}
}

// answered lets go on what has waited for the client's answer.
func (e *engine) answered(m *wire.Message, now time.Time) {
	id := string(m.Text(m.ID))
	q, ok := e.asked[id]
	if !ok {
		if !m.Result.Found() && !m.Error.Found() {
			e.missed(Miss{})
			e.reply(errorAnswer(id, codeInvalid, "Invalid Request", nil))
		}
		return
	}
	delete(e.asked, id)
	q.r.got[q.item] = now
}

// begun plays what a request or notification begins.
func (e *engine) begun(m *wire.Message, now time.Time) error {
	params := m.Text(m.Params)
	a := ask{method: m.Method, session: string(m.Session), params: params, conn: e.conn, request: m.Kind == wire.Request}
	e.cancelled(m, now)
	r := &run{id: string(m.Text(m.ID)), method: m.Method, at: now, cwd: gjson.GetBytes(params, "cwd").Str}
	in := e.instance(&a)
	a.cwd = r.cwd
	if a.cwd == "" && in != nil {
		a.cwd = in.liveCwd
	}
	books := &e.outside
	if in != nil && !e.s.oneSided {
		books = &in.ledger
	}
	b, err := e.s.find(books, a)
	if err != nil {
		return err
	}
	if b == nil && e.s.opt.Lenient {
		b = e.s.findLenient(books, a)
	}
	if b == nil || a.request && !b.request {
		miss := e.s.miss(a)
		e.missed(miss)
		if a.request {
			e.reply(miss.answer(r.id))
		}
		return nil
	}
	if a.request && !b.answered && !b.cut {
		e.missed(Miss{Method: a.method, Request: true, Line: e.s.number(b), Silent: true})
	}
	books.used[b.index] = true
	e.play(b, e.enter(b, in, string(m.Session), r.cwd), r)
	return nil
}

func (e *engine) play(b *block, in *instance, r *run) {
	r.b, r.in = b, in
	if in == nil {
		e.outside.used[b.index] = true
	}
	if b.trigger >= 0 {
		e.conn = e.s.items.at(b.trigger).conn
	}
	e.start(r)
}

// cancelled tells the runs that are meant by a cancel.
func (e *engine) cancelled(m *wire.Message, now time.Time) {
	switch m.Method {
	case acp.AgentMethodSessionCancel:
		for _, r := range e.active {
			if r.in != nil && r.in.live == string(m.Session) {
				r.cancels = append(r.cancels, now)
			}
		}
	case cancelRequest:
		id := gjson.GetBytes(m.Text(m.Params), "requestId").Raw
		for _, r := range e.active {
			if r.id != "" && r.id == id {
				r.stops = append(r.stops, now)
			}
		}
	}
}

// instance finds the session that a frame names, and puts its recorded name in
// the place of the client's.
func (e *engine) instance(a *ask) *instance {
	if a.session == nowhere {
		return nil
	}
	in := e.instances[a.session]
	if in == nil && e.s.sessions[a.session] && !opensSession(a.method) {
		// It was recorded, and the client knows it from elsewhere.
		in = &instance{ledger: newLedger(), session: a.session, live: a.session}
		e.instances[a.session] = in
	}
	if in != nil {
		a.session = in.session
	}
	return in
}

// enter gives the session in which a block is played: that of the frame, or the one
// that it opens.
func (e *engine) enter(b *block, in *instance, live, cwd string) *instance {
	switch {
	case b.method == acp.AgentMethodSessionNew || b.guess != nil && b.made != nowhere && live == nowhere:
		if b.session == nowhere {
			return in
		}
		return e.open(b.session, e.free(b.session), b.cwd, cwd, nil)
	case in == nil && live != nowhere && b.session != nowhere: // a load of a session that the client has a name of its own for
		in = e.open(b.session, live, b.cwd, cwd, nil)
		in.used[b.index] = true
	case in != nil && b.cwd != "" && cwd != "":
		in.cwd, in.liveCwd = b.cwd, cwd
	}
	if b.made != nowhere && b.made != b.session {
		e.open(b.made, e.free(b.made), b.cwd, cwd, in)
	}
	return in
}

// free is the name under which a recorded session is handed out: its own, and
// another one if the client has got that already.
func (e *engine) free(session string) string {
	name := session
	for n := 2; e.instances[name] != nil; n++ {
		name = session + "-" + strconv.Itoa(n)
	}
	return name
}

func (e *engine) open(session, live, cwd, liveCwd string, parent *instance) *instance {
	in := &instance{ledger: newLedger(), session: session, live: live, cwd: cwd, liveCwd: liveCwd, parent: parent}
	e.instances[live] = in
	return in
}
