package trace

import (
	"iter"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Read gives the lines of a capture their meaning. Errors pass as they are, with
// a Record that has only its Line. A Record may be kept.
func Read(entries iter.Seq2[record.Entry, error]) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		t := newTracer()
		for e, err := range entries {
			r := &Record{Entry: e, Run: t.run}
			if err == nil {
				t.meaning(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// asker is one end of the wire and an id of its own.
type asker struct {
	peer proxy.Peer
	id   string
}

// openLimit bounds the requests without an answer that are remembered: a peer
// may never answer.
const openLimit = 1 << 16

type tracer struct {
	run    int
	header *record.Header // the last one
	open   map[asker]*Origin
	// renamed leads from the id under which the client has an agent's request to
	// that request, where the shim gave it another id.
	renamed map[asker]asker
	loads   map[string]*Origin // sessions that are being replayed
	prompts map[string]*Origin // sessions that run a turn
	names   map[string]string  // an agent's id of a session to the client's
	// last is the number of the last line, lost that of the last before which some
	// are missing.
	last, lost uint64
}

func newTracer() *tracer {
	t := &tracer{}
	t.reset()
	return t
}

func (t *tracer) reset() {
	t.open, t.renamed = map[asker]*Origin{}, map[asker]asker{}
	t.loads, t.prompts, t.names = map[string]*Origin{}, map[string]*Origin{}, map[string]string{}
}

func (t *tracer) meaning(r *Record) {
	t.follows(r)
	switch {
	case r.Header != nil:
		r.Continued = r.Header.Continues(t.header)
		if t.header = r.Header; !r.Continued {
			t.run++
			t.reset()
		}
		r.Run, r.Kind = t.run, Header
		return
	case r.Event != "":
		r.Kind, r.Session = Event, r.Entry.Session
		if r.Event == "exit" {
			t.exit(proxy.AgentPeer(r.Entry.Agent))
		}
		return
	}
	var m wire.Message
	m.Parse(r.Sent())
	r.Kind = kindOf(m.Kind)
	r.Method, r.ID = m.Method, string(m.Text(m.ID))
	r.Session = t.client(string(m.Session))
	switch r.Kind {
	case Request:
		t.asked(r, &m)
	case Response:
		t.answered(r, &m)
	case Notification:
		t.withoutID(r)
		if m.Method == acp.ClientMethodSessionUpdate {
			r.Update = gjson.GetBytes(m.Text(m.Params), "update.sessionUpdate").Str
			r.Replayed = t.loads[r.Session] != nil || r.Why == "replay"
		}
	}
	if !r.Replayed && r.Prompt == nil && r.Session != "" {
		r.Prompt = t.prompts[r.Session]
	}
}

// client is the client's name of a session.
func (t *tracer) client(session string) string {
	if name, ok := t.names[session]; ok {
		return name
	}
	return session
}

// received is the id of the line as its sender wrote it.
func received(r *Record) string {
	if len(r.Edits) == 0 {
		return r.ID
	}
	var m wire.Message
	m.Parse(r.Received())
	return string(m.Text(m.ID))
}

func (t *tracer) asked(r *Record, m *wire.Message) {
	sent := r.ID
	r.ID = received(r)
	key := asker{r.From, r.ID}
	o := t.open[key]
	if r.Again && o != nil {
		o.To = r.To // it was held, and is on its way now
		return
	}
	if len(t.open) >= openLimit {
		return
	}
	o = &Origin{Seq: r.Seq, T: r.T, From: r.From, To: r.To, Method: r.Method, ID: r.ID, Session: r.Session}
	t.open[key] = o
	if sent != r.ID {
		t.renamed[asker{proxy.Client, sent}] = key
	}
	switch {
	case r.Session == "":
	case r.Method == acp.AgentMethodSessionLoad, r.Method == acp.AgentMethodSessionResume:
		t.loads[r.Session] = o
	case r.Method == acp.AgentMethodSessionPrompt && t.over(t.prompts[r.Session]):
		if lost := t.prompts[r.Session]; lost != nil {
			delete(t.open, asker{lost.From, lost.ID})
		}
		t.prompts[r.Session] = o
		r.Prompt = o
	}
}

// follows notes where lines are missing: their numbers count on.
func (t *tracer) follows(r *Record) {
	switch {
	case r.Header != nil:
		if !r.Header.Continues(t.header) {
			t.last, t.lost = 0, 0
		}
		return
	case t.last > 0 && r.Seq > t.last+1:
		t.lost = r.Seq
	}
	t.last = r.Seq
}

// over tells that a prompt's turn has ended, or must have: its answer is missing, as
// lines are that have come since, and its session asks again.
func (t *tracer) over(o *Origin) bool { return o == nil || o.Seq < t.lost }

// withoutID remembers a request that was sent on as a notification: its sender
// waits for an answer. A session/cancel with an id is one, which no agent knows.
func (t *tracer) withoutID(r *Record) {
	if len(r.Edits) == 0 {
		return
	}
	var m wire.Message
	m.Parse(r.Received())
	if m.Kind != wire.Request || len(t.open) >= openLimit {
		return
	}
	r.ID = string(m.Text(m.ID))
	t.open[asker{r.From, r.ID}] = &Origin{Seq: r.Seq, T: r.T, From: r.From, To: r.To, Method: r.Method, ID: r.ID, Session: r.Session}
}

// origin finds the request that a response answers. The client's answers go to
// an agent's request, by the id that the client has for it; all others to a
// request of whoever receives them, or was to.
func (t *tracer) origin(r *Record) (asker, *Origin) {
	id := received(r)
	if r.From == proxy.Client {
		if key, ok := t.renamed[asker{proxy.Client, id}]; ok {
			return key, t.open[key]
		}
		if r.To != proxy.Nobody {
			key := asker{r.To, id}
			return key, t.open[key]
		}
		for key, o := range t.open {
			if key.id == id && key.peer.Gen() > 0 {
				return key, o
			}
		}
		return asker{}, nil
	}
	peers := []proxy.Peer{r.To}
	if r.To == proxy.Nobody {
		peers = []proxy.Peer{proxy.Shim, proxy.Client}
	}
	for _, peer := range peers {
		key := asker{peer, id}
		if o := t.open[key]; o != nil {
			return key, o
		}
	}
	return asker{}, nil
}

func (t *tracer) answered(r *Record, m *wire.Message) {
	r.ID = received(r)
	if m.Error.Found() {
		e := gjson.ParseBytes(m.Text(m.Error))
		r.Failed, r.Code, r.Message = true, e.Get("code").Int(), e.Get("message").Str
	}
	key, o := t.origin(r)
	if o == nil {
		return
	}
	r.Request, r.Took, r.Method = o, r.T-o.T, o.Method
	if r.Session == "" {
		r.Session = o.Session
	}
	if r.To == proxy.Nobody && o.From == proxy.Client {
		return // swallowed: the client gets, or has got, another answer
	}
	delete(t.open, key)
	for as, k := range t.renamed {
		if k == key {
			delete(t.renamed, as)
		}
	}
	t.ended(r, m, o)
}

// ended follows what an answer means for sessions and turns.
func (t *tracer) ended(r *Record, m *wire.Message, o *Origin) {
	switch o.Method {
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionFork:
		id := gjson.GetBytes(m.Text(m.Result), "sessionId").Str
		if id == "" {
			return
		}
		r.Session = t.client(id)
		if o.From == proxy.Shim && o.Session != "" {
			t.names[id], r.Session = o.Session, o.Session
		}
	case acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume:
		if t.loads[o.Session] == o {
			delete(t.loads, o.Session)
		}
	case acp.AgentMethodSessionPrompt:
		if t.prompts[o.Session] == o {
			r.Prompt = o
			t.next(o.Session)
		}
	}
}

// next makes the prompt that waits in a session its turn.
func (t *tracer) next(session string) {
	delete(t.prompts, session)
	for _, o := range t.open {
		if o.Method != acp.AgentMethodSessionPrompt || o.Session != session {
			continue
		}
		if p := t.prompts[session]; p == nil || o.Seq < p.Seq {
			t.prompts[session] = o
		}
	}
}

// exit forgets what will have no answer: what a process has asked, and what the
// shim has asked it. The client's requests get theirs.
func (t *tracer) exit(agent proxy.Peer) {
	for key, o := range t.open {
		if o.From == agent || o.From == proxy.Shim && o.To == agent {
			delete(t.open, key)
			if t.loads[o.Session] == o {
				delete(t.loads, o.Session)
			}
		}
	}
	for as, key := range t.renamed {
		if key.peer == agent {
			delete(t.renamed, as)
		}
	}
}
