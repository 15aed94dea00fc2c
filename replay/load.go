package replay

import (
	"bytes"
	"fmt"
	"iter"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
	"acp-shim/record"
)

// loader turns lines into the items and blocks of a script.
type loader struct {
	script *Script
	words  map[string]string // so that a method or session is one string in memory
	open   map[asked]int32   // requests without an answer
	cwds   map[string]string // directories of sessions
	conn   int32             // of the run that is being read
	ended  map[int32]bool    // runs, by their conn, that ended in order
}

type asked struct {
	conn int32
	side side
	id   string
}

func newLoader(o Options) *loader {
	s := &Script{opt: o, index: map[place]*group{}, sessions: map[string]bool{}}
	s.spool.limit = spoolMemory
	return &loader{script: s, words: map[string]string{}, open: map[asked]int32{}, cwds: map[string]string{}, ended: map[int32]bool{}}
}

func (l *loader) word(s string) string {
	if w, ok := l.words[s]; ok {
		return w
	}
	l.words[s] = s
	return s
}

func (l *loader) damaged(err error) {
	if l.script.opt.Damaged != nil {
		l.script.opt.Damaged(err)
	}
}

// maxProcesses is how many processes one run has at the most, for telling their
// connections apart.
const maxProcesses = 1 << 16

// capture reads the frames of one of the wires.
func (l *loader) capture(entries iter.Seq2[record.Entry, error]) error {
	var header *record.Header
	for e, err := range entries {
		switch {
		case err != nil:
			if _, ok := err.(*record.LineError); !ok {
				return err
			}
			l.damaged(err)
			continue
		case e.Header != nil:
			if header != nil && !e.Header.Continues(header) {
				l.conn += maxProcesses
			}
			header = e.Header
		case e.Event == "end":
			l.ended[l.conn] = true
		case e.Event != "":
			if g, ok := e.Gap(); ok && g.Frames > 0 {
				l.damaged(fmt.Errorf("capture line %d: %d frames are missing: %s", e.Line, g.Frames, g.Why))
			}
		default:
			if err := l.entry(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) entry(e *record.Entry) error {
	if !l.script.opt.AgentSide {
		switch {
		case e.From == proxy.Client && !e.Again:
			return l.frame(client, l.conn, e.T, e.Line, e.Received())
		case e.To == proxy.Client:
			return l.frame(agent, l.conn, e.T, e.Line, e.Sent())
		}
		return nil
	}
	switch {
	case e.To.Gen() > 0:
		return l.frame(client, l.conn+int32(e.To.Gen()), e.T, e.Line, e.Sent())
	case e.From.Gen() > 0 && !e.Again:
		return l.frame(agent, l.conn+int32(e.From.Gen()), e.T, e.Line, e.Received())
	}
	return nil
}

// frame takes the next line of a wire.
func (l *loader) frame(from side, conn int32, t time.Duration, number int, line []byte) error {
	if !bytes.HasSuffix(line, []byte("\n")) {
		line = append(line, '\n') // the end of a stream
	}
	r, err := l.script.spool.add(line)
	if err != nil {
		return err
	}
	l.add(from, conn, t, number, r, line)
	return nil
}

func (l *loader) add(from side, conn int32, t time.Duration, number int, r ref, line []byte) {
	var m wire.Message
	m.Parse(line)
	if m.Kind == wire.Blank {
		return
	}
	s := l.script
	i := s.items.n
	it := item{ref: r, t: t, line: int32(number), conn: conn, link: -1, block: -1, side: from, kind: m.Kind,
		method: l.word(m.Method), id: string(m.Text(m.ID)), session: l.word(string(m.Session))}
	switch m.Kind {
	case wire.Request:
		l.open[asked{conn, from, it.id}] = i
	case wire.Response:
		key := asked{conn, 1 - from, it.id}
		if q, ok := l.open[key]; ok {
			delete(l.open, key)
			it.link, s.items.at(q).link = q, i
			l.answered(&it, s.items.at(q), &m)
		}
	case wire.Notification:
		if m.Method == cancelRequest {
			it.id = gjson.GetBytes(m.Text(m.Params), "requestId").Raw
		}
	}
	if from == client && m.Kind != wire.Response {
		it.block = l.begin(i, &it, &m)
	}
	s.items.add(it)
}

// answered follows what an answer means for sessions.
func (l *loader) answered(answer, request *item, m *wire.Message) {
	answer.session = request.session
	if request.block < 0 {
		return
	}
	b := l.script.blocks[request.block]
	b.answered = true
	if !makesSession(request.method) {
		return
	}
	b.made = l.word(gjson.GetBytes(m.Text(m.Result), "sessionId").Str)
	if b.made == nowhere {
		return
	}
	answer.session = b.made
	if b.session == nowhere {
		b.session = b.made
	}
	l.cwds[b.made] = b.cwd
}

// begin makes the block that a frame of the client's begins.
func (l *loader) begin(i int32, it *item, m *wire.Message) int32 {
	s := l.script
	b := &block{index: int32(len(s.blocks)), trigger: i, method: it.method, session: it.session, request: m.Kind == wire.Request}
	params := m.Text(m.Params)
	if m.Kind < wire.Request { // what is no message is told by all of it
		b.method, b.session = notMessage, nowhere
		params = bytes.TrimSpace(m.Raw)
	} else {
		b.cwd = gjson.GetBytes(params, "cwd").Str
	}
	cwd := b.cwd
	if cwd == "" {
		cwd = l.cwds[b.session]
	} else if b.session != nowhere {
		l.cwds[b.session] = cwd
	}
	b.plain, b.moved = keys(b.method, params, cwd)
	b.wild = marked(params)
	if b.session != nowhere {
		s.sessions[b.session] = true
	}
	s.blocks = append(s.blocks, b)
	return b.index
}

// notMessage stands for the method of a line that has none: a batch, or nothing
// that JSON-RPC knows.
const notMessage = "\x00"

func (l *loader) finish() (*Script, error) {
	s := l.script
	if err := s.spool.flush(); err != nil {
		s.Close()
		return nil, err
	}
	if s.items.n == 0 {
		s.Close()
		return nil, ErrNoRecording
	}
	if !s.oneSided {
		newArranger(s).arrange()
	}
	l.cutOff()
	s.file()
	return s, nil
}

// cutOff lets requests end that the end of a recording has cut off from their
// answer, as a kill does: a client that waits would wait for ever. What has no
// answer in a run that ended in order, or of a process that a shim has ended,
// never got one.
func (l *loader) cutOff() {
	s := l.script
	if s.opt.AgentSide {
		return
	}
	for _, b := range s.blocks {
		if !b.request || b.answered {
			continue
		}
		last := b.trigger
		if last >= 0 && l.ended[s.items.at(last).conn] {
			continue
		}
		for _, st := range b.steps {
			last = st.item
		}
		b.cut = true
		b.steps = append(b.steps, step{last, cutOff})
	}
}
