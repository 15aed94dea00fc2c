package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strconv"
	"unicode/utf8"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// Format and FormatVersion are what a header says of itself.
const (
	Format        = "acp-shim-capture"
	FormatVersion = 1
)

// embedDepth is how deep a frame may nest that is embedded. Many JSON readers
// give up at a thousand, and then the whole line would be lost to them.
const embedDepth = 1000

// header puts the first line of a run into out.
func (f *flusher) header(opt Options) {
	h := Header{
		Format: Format, Version: FormatVersion, Start: opt.Start.UTC(), Shim: opt.Version, PID: os.Getpid(),
		Redacted: !opt.Raw, MaxBlob: opt.MaxBlob, Run: f.run, Part: f.part.n,
		Agent: AgentHeader{Name: opt.Agent, Argv: opt.Argv},
	}
	info := opt.Info
	if f.info != nil {
		info = f.info
	}
	if len(info) > 0 && wire.Valid(info) {
		h.Agent.Info = info
	}
	line, err := json.Marshal(&h)
	if err != nil {
		// Only an Info that nests beyond what encoding/json takes does that.
		h.Agent.Info = nil
		line, _ = json.Marshal(&h)
	}
	f.head = append(f.clean.json(line), '\n')
	if size, err := f.file.Size(); err == nil && size > 0 {
		f.part.size = size
		if !endsLine(f.file) {
			f.head = append([]byte{'\n'}, f.head...)
		}
	}
	f.heads = bytes.Count(f.head, []byte{'\n'})
	f.lines = append(f.lines, make([]account, f.heads)...)
	f.out = append(f.out, f.head...)
}

// format appends the line of a record to out. A large frame is written from
// where it is, and out holds what comes after it.
func (f *flusher) format(r *record) {
	b := f.count.append(f.out, r.seq, r.t)
	switch r.kind {
	case isFrame:
		f.out = b
		f.frame(r)
		b = f.out
	case isEvent:
		b = f.event(b, r)
	case isGap:
		b = append(b, `,"event":"gap","data":`...)
		b = append(b, mustJSON(&r.gap)...)
	}
	f.out = append(b, "}\n"...)
}

func (f *flusher) frame(r *record) {
	sent, edits := r.bytes, r.edits
	known := f.forms.has(r.form)
	embed := len(edits) == 0 && (known && f.alike.sameForm(sent, r.varies) || !known && f.alike.same(sent)) && !f.clean.known.may(sent) && (f.clean.maxBlob == 0 || len(sent) <= f.clean.maxBlob)
	if !embed {
		f.introduce(r)
		sent, edits = f.clean.frame(sent, edits)
	}
	b := append(f.out, `,"from":`...)
	b = appendPeer(b, r.from)
	b = append(b, `,"to":`...)
	b = appendPeer(b, r.to)

	pre, body, post := trim(sent)
	if len(pre) > 0 {
		b = append(b, `,"pre":`...)
		b = appendQuoted(b, pre)
	}
	if !embed && utf8.Valid(body) && embeds(body) {
		embed = true
		if f.clean.raw || len(sent) <= alikeMax && !suspicious(sent) {
			switch {
			case r.form == 0:
				f.alike.learn(sent)
			case &sent[0] == &r.bytes[0]:
				// As it came. Where something was replaced, it may be in what all
				// frames of the form have.
				f.forms.add(r.form)
			}
		}
	}
	switch {
	case !embed && !utf8.Valid(body):
		b = append(b, `,"base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, body)
		b = append(b, '"')
	case !embed:
		b = append(b, `,"text":`...)
		b = appendQuoted(b, body)
	default:
		b = append(b, `,"frame":`...)
		if len(body) < largeFrame {
			b = append(b, body...)
			break
		}
		f.put(b)
		f.put(body)
		b = b[:0]
	}
	if string(post) != "\n" {
		b = append(b, `,"post":`...)
		b = appendQuoted(b, post)
	}
	for i, e := range edits {
		if i == 0 {
			b = append(b, `,"edits":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"at":`...)
		b = strconv.AppendInt(b, int64(e.at), 10)
		b = appendEither(b, "old", e.old)
		b = appendEither(b, "new", e.new)
		b = append(b, '}')
	}
	if len(edits) > 0 {
		b = append(b, ']')
	}
	if len(r.why) > 0 {
		b = append(b, `,"why":`...)
		b = appendWord(b, string(f.clean.text(r.why)))
	}
	if r.again {
		b = append(b, `,"again":true`...)
	}
	f.out = b
}

func (f *flusher) event(b []byte, r *record) []byte {
	b = append(b, `,"event":`...)
	b = appendWord(b, string(r.event))
	if r.agent > 0 {
		b = append(b, `,"agent":`...)
		b = appendPeer(b, proxy.AgentPeer(r.agent))
	}
	if len(r.session) > 0 {
		b = append(b, `,"session":`...)
		b = appendWord(b, string(f.clean.id(r.session)))
	}
	if text := r.bytes; len(text) > 0 {
		text = f.clean.text(text)
		if utf8.Valid(text) {
			b = append(b, `,"text":`...)
			b = appendQuoted(b, text)
		} else {
			b = append(b, `,"base64":"`...)
			b = base64.StdEncoding.AppendEncode(b, text)
			b = append(b, '"')
		}
	}
	if data := bytes.TrimSpace(r.data); len(data) > 0 {
		data = f.clean.json(data)
		b = append(b, `,"data":`...)
		b = appendJSON(b, data)
	}
	return b
}

// endLine appends the last line of a run.
func (f *flusher) endLine(seq uint64, t int64, summary []byte) {
	e := ending{
		Frames: f.total.Frames, Events: f.total.Events, Bytes: f.total.Bytes,
		Lost: f.gaps.Frames + f.gaps.Events,
	}
	b := append(f.out, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"t":`...)
	b = strconv.AppendInt(b, t, 10)
	b = append(b, `,"event":"end","data":`...)
	b = append(b, mustJSON(&e)...)
	if summary = bytes.TrimSpace(summary); len(summary) > 0 {
		summary = f.clean.json(summary)
		b = append(b[:len(b)-1], `,"summary":`...)
		b = append(appendJSON(b, summary), '}')
	}
	f.out = append(b, "}\n"...)
}

// ending is what the data of an end event begins with.
type ending struct {
	Frames uint64 `json:"frames"`
	Events uint64 `json:"events"`
	Bytes  uint64 `json:"bytes"`
	Lost   uint64 `json:"lost"`
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return b
}

// introduce keeps what an agent says of itself in its answer to initialize, for
// the header of the next part, in which that answer does not stand.
func (f *flusher) introduce(r *record) {
	if f.info != nil || r.from.Gen() == 0 || f.part.open == nil || !bytes.Contains(r.bytes, []byte(`"agentInfo"`)) || !wire.Valid(r.bytes) {
		return
	}
	member := func(b []byte, name string) (value []byte) {
		if len(b) == 0 || b[0] != '{' {
			return nil
		}
		eachMember(b, func(key, v []byte) bool {
			if string(key) == name {
				value = v
			}
			return value == nil
		})
		return value
	}
	if info := member(member(bytes.TrimSpace(r.bytes), "result"), "agentInfo"); info != nil {
		f.info = bytes.Clone(info)
	}
}

// appendJSON appends a JSON value where it can be embedded, and as a string
// otherwise.
func appendJSON(b, v []byte) []byte {
	if utf8.Valid(v) && embeds(v) {
		return append(b, v...)
	}
	return appendWord(b, string(v))
}

// embeds reports whether b can stand as a value in a line.
func embeds(b []byte) bool {
	if bytes.IndexByte(b, '\n') >= 0 || !wire.Valid(b) {
		return false
	}
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) < embedDepth {
		return true
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = wire.StringEnd(b, i) - 1
		case '{', '[':
			if depth++; depth >= embedDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

// trim splits a line into white space, what stands between, and white space
// with the line end.
func trim(line []byte) (pre, body, post []byte) {
	from := wire.Space(line, 0)
	to := len(line)
	for to > from && (line[to-1] == ' ' || line[to-1] == '\t' || line[to-1] == '\r' || line[to-1] == '\n') {
		to--
	}
	if from == to { // a blank line
		return nil, nil, line
	}
	return line[:from], line[from:to], line[to:]
}

func appendPeer(b []byte, p proxy.Peer) []byte {
	switch {
	case p == proxy.Client:
		return append(b, `"client"`...)
	case p == proxy.Shim:
		return append(b, `"shim"`...)
	case p.Gen() > 0:
		b = append(b, `"agent#`...)
		b = strconv.AppendInt(b, int64(p.Gen()), 10)
		return append(b, '"')
	}
	return append(b, "null"...)
}

// appendEither appends a member of an edit.
func appendEither(b []byte, name string, v []byte) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	if utf8.Valid(v) {
		b = append(b, `":`...)
		return appendQuoted(b, v)
	}
	b = append(b, `64":"`...)
	b = base64.StdEncoding.AppendEncode(b, v)
	return append(b, '"')
}
