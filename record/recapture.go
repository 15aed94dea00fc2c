package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"acp-shim/internal/wire"
)

// Redaction is what came of [RedactCapture], or of a [Redactor].
type Redaction struct {
	Frames, Events int
	// Hunted is how many secrets were looked for in the whole capture. Unhunted
	// is how many more there were: those were replaced where they were found
	// for secrets, and may stand elsewhere.
	Hunted, Unhunted int
	// Damaged is how many lines could not be read, and are left out.
	Damaged int
}

// maxHunted bounds the secrets that are looked for everywhere, and maxIDs the ids
// that are known for none.
const (
	maxHunted = 20_000
	maxIDs    = 1 << 20
)

// RedactCapture writes a capture again without its secrets. Replaced is what
// [Redact] finds, and each of those secrets also wherever else it stands, before
// or after: in a tool's output, in a line of stderr, in base64, in JSON in a
// string, in a URL. Not looked for are secrets under eight bytes, and words. An
// id that also stood among headers or variables stays where it is an id; one that
// was called a secret does not, and all that it tells apart is then told apart by
// what stands in for it. What comes out has the same lines in the same order,
// frames of the same shape, and says in its headers that it is redacted; members
// of a line that this version does not know are dropped.
//
// It reads the capture twice, each time from what open returns, a line at a time.
// damaged is told of every line that cannot be read, and that is left out.
func RedactCapture(open func() (io.ReadCloser, error), out io.Writer, damaged func(*LineError)) (Redaction, error) {
	r := NewRedactor()
	if err := r.Learn(open); err != nil {
		return Redaction{}, err
	}
	return r.Redact(open, out, damaged)
}

// Redactor does what [RedactCapture] does for captures that belong together, such
// as the parts of one run: the secrets of all are looked for in each. It is not
// for use by several goroutines.
type Redactor struct {
	found   collector
	secrets [][]byte
	known   *hunter // nil until it is asked for
	ready   bool
}

// NewRedactor makes one that knows no secrets.
func NewRedactor() *Redactor { return &Redactor{found: newCollector()} }

// Learn reads a capture for its secrets. What cannot be read in it is passed over.
func (r *Redactor) Learn(open func() (io.ReadCloser, error)) error {
	r.ready = false
	return eachEntry(open, func(*LineError) {}, func(e *Entry) error {
		r.found.entry(e)
		return nil
	})
}

// Missing reports whether there are parts of runs before those that were learned
// from.
func (r *Redactor) Missing() bool {
	for p := range r.found.parts {
		if p.n > 1 && !r.found.parts[runPart{p.run, p.n - 1}] {
			return true
		}
	}
	return false
}

// Redact writes a capture again without the secrets that were learned.
func (r *Redactor) Redact(open func() (io.ReadCloser, error), out io.Writer, damaged func(*LineError)) (done Redaction, err error) {
	if !r.ready {
		r.secrets = r.found.secrets()
		r.known, r.ready = r.found.hunter(r.secrets), true
	}
	done.Hunted, done.Unhunted = len(r.secrets), r.found.over
	w := newRewriter(out, r.known)
	err = eachEntry(open, func(e *LineError) {
		done.Damaged++
		damaged(e)
	}, func(e *Entry) error {
		switch {
		case e.IsFrame():
			done.Frames++
		case e.Header == nil:
			done.Events++
		}
		return w.entry(e)
	})
	if err == nil {
		err = w.end()
	}
	return done, err
}

func eachEntry(open func() (io.ReadCloser, error), damaged func(*LineError), f func(e *Entry) error) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	for e, err := range Read(in) {
		var bad *LineError
		switch {
		case errors.As(err, &bad):
			damaged(bad)
		case err != nil:
			return err
		default:
			if err := f(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// collector finds the secrets of a capture.
type collector struct {
	found map[string]bool // and whether it was called a secret
	over  int
	// ids are hashes of what the capture tells things by. A client may put a
	// session's id into a header, and the capture must still replay.
	ids  map[uint64]bool
	seed maphash.Seed
	// parts are those of runs that it has seen.
	parts map[runPart]bool
}

type runPart struct {
	run string
	n   int
}

func newCollector() collector {
	return collector{found: map[string]bool{}, ids: map[uint64]bool{}, seed: maphash.MakeSeed(), parts: map[runPart]bool{}}
}

func (c *collector) entry(e *Entry) {
	switch {
	case e.Header != nil:
		c.parts[runPart{e.Header.Run, e.Header.Part}] = true
		line, err := json.Marshal(e.Header)
		if err == nil {
			c.json(line)
		}
	case e.IsFrame():
		sent := e.Sent()
		c.json(sent)
		for i := len(e.Edits) - 1; i >= 0; i-- {
			sent = wire.Undo(sent, e.Edits[i:i+1])
			c.json(sent)
		}
		c.text([]byte(e.Why))
	default:
		c.text(e.Text)
		c.json(e.Data)
	}
}

func (c *collector) json(b []byte) {
	eachWorthy(b, frameSpansAs, c.add)
	if wire.Valid(b) {
		eachID(b, func(v []byte) {
			if worthHunting(v) && len(c.ids) < maxIDs {
				c.ids[maphash.Bytes(c.seed, v)] = true
			}
		})
	}
}

func (c *collector) text(b []byte) { eachWorthy(b, lineSpans, c.add) }

func (c *collector) add(v []byte, sure bool) {
	was, known := c.found[string(v)]
	switch {
	case known:
		if sure && !was {
			c.found[string(v)] = true
		}
	case len(c.found) >= maxHunted:
		c.over++
	default:
		c.found[string(v)] = sure
	}
}

// maxStandIns is how many ids that are secrets are replaced by something of their
// own. More in one capture are more than anybody puts there.
const maxStandIns = 16

// hunter hunts for secrets as [collector.secrets] gives them.
func (c *collector) hunter(secrets [][]byte) *hunter {
	kept, standIns := map[string]bool{}, map[string]string{}
	for _, v := range secrets {
		switch s := string(v); {
		case !c.ids[maphash.Bytes(c.seed, v)]:
		case !c.found[s] && !looksKnown(v):
			kept[s] = true
		default:
			standIns[s] = strings.Repeat(Marker, min(len(standIns)+1, maxStandIns))
		}
	}
	h := newHunterAs(secrets, standIns)
	if h != nil {
		h.kept = kept
	}
	return h
}

// secrets are those that were found.
func (c *collector) secrets() (list [][]byte) {
	for s := range c.found {
		list = append(list, []byte(s))
	}
	slices.SortFunc(list, bytes.Compare)
	return list
}

// eachID calls f with the values of all members of a frame that name things.
func eachID(b []byte, f func(v []byte)) {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return
		}
		from := i + n
		i = wire.StringEnd(b, from)
		if v := idValue(b, from, i); v >= 0 {
			i = wire.StringEnd(b, v)
			f(unquote(b[v:i]))
		}
	}
}

// idValue is where the string begins that is the value of the member whose name is
// b[from:to], with its quotes, if that is what ids go by. Else it is -1.
func idValue(b []byte, from, to int) int {
	key := b[from+1 : to-1]
	if !endsIn(key, "id") && !endsIn(key, "Id") && !endsIn(key, "ID") {
		return -1
	}
	colon := wire.Space(b, to)
	if colon >= len(b) || b[colon] != ':' {
		return -1
	}
	if v := wire.Space(b, colon+1); v < len(b) && b[v] == '"' {
		return v
	}
	return -1
}

// rewriter writes entries as a flusher does.
type rewriter struct {
	out   *bufio.Writer
	flush flusher
}

func newRewriter(out io.Writer, known *hunter) *rewriter {
	w := &rewriter{out: bufio.NewWriterSize(out, 256<<10)}
	w.flush = flusher{file: stream{w.out}, clean: cleaner{known: known}, alike: alike{patience: 1}}
	return w
}

func (w *rewriter) entry(e *Entry) error {
	f := &w.flush
	f.out = f.out[:0]
	if e.Header != nil {
		h := *e.Header
		h.Redacted = true
		line, err := json.Marshal(&h)
		if err != nil {
			return fmt.Errorf("writing the header of line %d: %w", e.Line, err)
		}
		f.out = append(append(f.out, f.clean.json(line)...), '\n')
	} else {
		f.rec = record{seq: e.Seq, t: int64(e.T), edits: f.rec.edits[:0]}
		r := &f.rec
		if e.IsFrame() {
			r.kind, r.from, r.to, r.again = isFrame, e.From, e.To, e.Again
			r.bytes, r.why = e.Sent(), []byte(e.Why)
			for _, x := range e.Edits {
				r.edits = append(r.edits, edit{x.At, []byte(x.Old), []byte(x.New)})
			}
		} else {
			r.kind, r.agent, r.event, r.session = isEvent, e.Agent, []byte(e.Event), []byte(e.Session)
			r.bytes, r.data = e.Text, e.Data
		}
		f.format(r)
	}
	_, err := w.out.Write(f.out)
	return err
}

func (w *rewriter) end() error { return w.out.Flush() }

// stream is a file for what is only written. Its errors come again with the next
// write to it, and with the last one.
type stream struct{ *bufio.Writer }

func (s stream) Write(p []byte) (int, error) {
	s.Writer.Write(p)
	return len(p), nil
}

func (stream) Size() (int64, error) { return 0, nil }
func (stream) Truncate(int64) error { return nil }
func (stream) Sync() error          { return nil }
func (stream) Close() error         { return nil }
