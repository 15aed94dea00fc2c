package record

import (
	"bytes"
	"unicode/utf8"

	"acp-shim/internal/wire"
)

// place is what a value's place in a frame says about the strings in it.
type place uint8

const (
	inPlain    place = iota // secrets are known by words and looks only
	inSecret                // strings are secret, but for those that describe
	inHeaders               // this is the list or map of headers or variables
	inEntry                 // one of that list
	inMember                // a member of one of that list
	inTuple                 // an element of one of that list
	inFlagged               // the word behind a flag, unless it is one, too
	inVariable              // the same, where only NAME=value is meant
	inValue                 // strings are secret
	inMetadata              // strings and numbers are secret
	inTokens                // strings are secret that look like it
)

// level is an object or array that is open.
type level struct {
	object  bool
	place   place // of what is in it
	message bool  // it is one, unless it turns out to be something else
	params  bool  // it is a message's params

	// Of an array: how many elements came, and where the last one, a flag, puts
	// the next.
	count int
	next  place

	// Of an object: whether its member "name" names a secret, and where the
	// string in its member "value" is; and the same of "grant_type" and "code",
	// as OAuth has them. A frame may have a great many open.
	named, granted bool
	value, code    extent
}

type extent struct{ from, to uint32 }

func (e extent) empty() bool { return e.to <= e.from }

// walker goes through one JSON text once, without recursion and without a
// tree, and collects what is secret in it.
type walker struct {
	b     []byte
	as    look
	spans []span
	stack []level

	// Of the message that is open: whether its method is authenticate, and
	// where its params' _meta is; metaFrom is 0 while none is open.
	authenticate bool
	metaFrom     int
	metas        []span
}

// look is how something is looked at.
type look struct {
	depth int // how many strings it stands in
	// sure leaves out what is replaced only because it stands among headers or
	// variables: those are not all secret.
	sure bool
}

// maxNesting is where a walk gives up, and with it all that is known from a
// value's place. What nests deeper is no frame of anybody's.
const maxNesting = 10_000

// walk reads the value at b[i]. Where it is malformed, cut short or nested too
// deep, it returns the offset of what it could not read, and false; what was
// found up to there stays found.
func (w *walker) walk(i int, at place) (end int, ok bool) {
	end, ok = w.value(i, at)
	if !ok {
		if w.metaFrom > 0 {
			w.metas = append(w.metas, span{from: w.metaFrom})
		}
		w.metadata()
	}
	return end, ok
}

func (w *walker) value(i int, at place) (end int, ok bool) {
	b := w.b
	var name []byte // of the member whose value is due at b[i]
due:
	for {
		if i >= len(b) {
			return i, false
		}
		start := i
		switch c := b[i]; c {
		case '{', '[':
			if len(w.stack) >= maxNesting {
				return i, false
			}
			w.open(c == '{', name, i, at)
			i = wire.Space(b, i+1)
			if i >= len(b) || b[i] != c+2 { // its closing bracket
				if i, name, at, ok = w.due(i); !ok {
					return i, false
				}
				continue due
			}
			i++
			w.close()
		case '"':
			if i = wire.StringEnd(b, i); i < 0 {
				w.text(name, start+1, len(b), at)
				return len(b), false
			}
			w.text(name, start+1, i-1, at)
		default:
			if i = scalarEnd(b, i); i == start {
				return i, false
			}
			if n := i - start; at == inSecret && n >= minNumber && isPassword(name) && isDigits(b[start:i]) {
				w.spans = append(w.spans, span{start, i, numberMarker(n)})
			}
			if at == inMetadata && (c == '-' || c >= '0' && c <= '9') {
				w.spans = append(w.spans, span{start, i, "0"})
			}
		}
		// A value ended at i.
		for len(w.stack) > 0 {
			top := &w.stack[len(w.stack)-1]
			if w.metaFrom > 0 && top.params {
				w.metas = append(w.metas, span{from: w.metaFrom})
				w.metaFrom = 0
			}
			if i = wire.Space(b, i); i >= len(b) {
				return i, false
			}
			if b[i] == ',' {
				if i, name, at, ok = w.due(wire.Space(b, i+1)); !ok {
					return i, false
				}
				continue due
			}
			if top.object && b[i] != '}' || !top.object && b[i] != ']' {
				return i, false
			}
			i++
			w.close()
		}
		return i, true
	}
}

// open begins the object or array at b[i], the value of a member called name.
func (w *walker) open(object bool, name []byte, i int, at place) {
	l := level{object: object, place: at}
	switch {
	case at == inHeaders && object, at == inMember, at == inTuple:
		l.place = inValue
	case at == inHeaders:
		l.place = inEntry
	case at == inEntry && object:
		l.place = inMember
	case at == inEntry:
		l.place = inTuple
	case at == inTokens && object:
		l.place = inPlain
	}
	// A message is the whole text, or one of a batch.
	n := len(w.stack)
	if object && (n == 0 || n == 1 && !w.stack[0].object) {
		l.message = true
		w.authenticate, w.metas = false, w.metas[:0]
	}
	l.params = object && n > 0 && w.stack[n-1].message && string(name) == "params"
	w.stack = append(w.stack, l)
}

func (w *walker) close() {
	l := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	if l.named && !l.value.empty() {
		w.whole(int(l.value.from), int(l.value.to))
	}
	if l.granted && !l.code.empty() {
		w.whole(int(l.code.from), int(l.code.to))
	}
	if l.message {
		w.metadata()
	}
}

// metadata replaces all that the _meta of an authenticate request holds: what a
// client puts there is what it logs in with, under whatever name.
func (w *walker) metadata() {
	if !w.authenticate {
		return
	}
	for _, m := range w.metas {
		again := walker{b: w.b, as: w.as, spans: w.spans}
		again.value(m.from, inMetadata)
		w.spans = again.spans
	}
	w.metas, w.authenticate = w.metas[:0], false
}

// due reads the name of the member at b[i], if the open level is an object, and
// says where the value is and what its place is.
func (w *walker) due(i int) (at int, name []byte, p place, ok bool) {
	l := &w.stack[len(w.stack)-1]
	if !l.object {
		p = l.place
		if p == inPlain {
			p = l.next
		} else if p == inTuple && l.count == 0 {
			p = inPlain
		}
		l.next = inPlain
		l.count++
		return i, nil, p, true
	}
	if i >= len(w.b) || w.b[i] != '"' {
		return i, nil, 0, false
	}
	end := wire.StringEnd(w.b, i)
	if end < 0 {
		return len(w.b), nil, 0, false
	}
	name = unquote(w.b[i:end])
	w.shapesOnly(i+1, end-1)
	i = wire.Space(w.b, end)
	if i >= len(w.b) || w.b[i] != ':' {
		return i, nil, 0, false
	}
	i = wire.Space(w.b, i+1)
	if l.params && string(name) == "_meta" {
		w.metaFrom = i
	}
	p = l.place
	switch p {
	case inPlain:
		switch classify(name) {
		case nameSecret:
			p = inSecret
		case nameTokens:
			p = inTokens
		case nameHeaders:
			if !w.as.sure {
				p = inHeaders
			}
		}
	case inSecret:
		if harmless(name) {
			p = inPlain
		}
	}
	return i, name, p, true
}

// text looks at the string whose body is b[from:to].
func (w *walker) text(name []byte, from, to int, at place) {
	body := w.b[from:to]
	if len(w.stack) > 0 {
		w.relate(&w.stack[len(w.stack)-1], name, from, to, at)
	}
	switch at {
	case inSecret, inValue, inMetadata, inTuple:
		w.whole(from, to)
		return
	case inTokens:
		if secretLooks(unescape(body)) {
			w.whole(from, to)
			return
		}
	case inFlagged:
		if len(body) > 0 && body[0] != '-' {
			w.whole(from, to)
			return
		}
	case inMember:
		if classify(name) != nameName {
			w.whole(from, to)
			return
		}
	case inEntry, inVariable:
		if n := pairValue(body, at == inVariable); n >= 0 {
			w.whole(from+n, to)
			return
		}
	}
	w.inside(from, to)
}

// relate keeps what a string says about what stands beside it.
func (w *walker) relate(l *level, name []byte, from, to int, at place) {
	body := w.b[from:to]
	if !l.object {
		if at == inPlain || at == inFlagged {
			l.next = behindFlag(body)
		}
		return
	}
	if l.message && string(name) == "method" && string(unescape(body)) == "authenticate" {
		w.authenticate = true
	}
	if l.place != inPlain {
		return
	}
	switch string(name) {
	case "type", "scheme":
		switch string(bytes.ToLower(unescape(body[:min(len(body), 64)]))) {
		case "bearer", "apikey", "api_key":
			l.named = true
		}
	case "grant_type":
		l.granted = true
	case "code":
		l.code = extent{uint32(from), uint32(to)}
	}
	switch classify(name) {
	case nameName:
		// A title for people has spaces: "Max token".
		if n := unescape(body); bytes.IndexByte(n, ' ') < 0 && secretName(n) {
			l.named = true
		}
	case nameValue:
		l.value = extent{uint32(from), uint32(to)}
	}
}

// whole replaces a string, or what remains of it.
func (w *walker) whole(from, to int) {
	if to > from && !isMarker(w.b[from:to]) {
		w.spans = append(w.spans, span{from, to, Marker})
	}
}

// inside looks for secrets in the string's text.
func (w *walker) inside(from, to int) {
	body := w.b[from:to]
	if !suspicious(body) {
		return
	}
	if bytes.IndexByte(body, '\\') < 0 {
		n := len(w.spans)
		w.spans = textSpans(body, w.as, w.spans)
		for i := n; i < len(w.spans); i++ {
			w.spans[i].from += from
			w.spans[i].to += from
		}
		return
	}
	decoded, marks := decode(body, nil)
	for _, s := range textSpans(decoded, w.as, nil) {
		for s.from > 0 && !utf8.RuneStart(decoded[s.from]) {
			s.from--
		}
		for s.to < len(decoded) && !utf8.RuneStart(decoded[s.to]) {
			s.to++
		}
		s.from = from + rawOffset(marks, s.from)
		s.to = from + rawOffset(marks, s.to)
		w.spans = append(w.spans, s)
	}
}

// shapesOnly looks for secrets in the name of a member, which no word announces.
func (w *walker) shapesOnly(from, to int) {
	s := theSieve()
	body, marks := w.b[from:to], []mark(nil)
	if bytes.IndexByte(body, '\\') >= 0 {
		body, marks = decode(body, nil)
	}
	raw := func(at int) int {
		if marks == nil {
			return from + at
		}
		return from + rawOffset(marks, at)
	}
	for at := -1; ; {
		hit, win := s.next(body, at)
		if hit < -1 {
			return
		}
		at = hit + 1
		for _, r := range win.rules {
			if r != ruleShape {
				continue
			}
			if start, end, ok := shaped(body, hit); ok {
				w.spans = append(w.spans, span{raw(start), raw(end), Marker})
				at = max(at, end-2)
			}
		}
	}
}
