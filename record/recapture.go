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

	"acp-shim/internal/wire"
)

// Redaction is what came of [RedactCapture].
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
// string, in a URL. Not looked for are secrets under eight bytes, words, and what
// is an id in the capture. What comes out has the same lines in the same order,
// frames of the same shape, and says in its headers that it is redacted; members
// of a line that this version does not know are dropped.
//
// It reads the capture twice, each time from what open returns, a line at a time.
// damaged is told of every line that cannot be read, and that is left out.
func RedactCapture(open func() (io.ReadCloser, error), out io.Writer, damaged func(*LineError)) (Redaction, error) {
	var done Redaction
	c := collector{found: map[string]bool{}, ids: map[uint64]bool{}, seed: maphash.MakeSeed()}
	err := eachEntry(open, func(*LineError) {}, func(e *Entry) error {
		c.entry(e)
		return nil
	})
	if err != nil {
		return done, err
	}
	secrets := c.secrets()
	done.Hunted, done.Unhunted = len(secrets), c.over
	w := newRewriter(out, newHunter(secrets))
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
	found map[string]bool
	over  int
	// ids are hashes of what the capture tells things by. A client may put a
	// session's id into a header, and the capture must still replay.
	ids  map[uint64]bool
	seed maphash.Seed
}

func (c *collector) entry(e *Entry) {
	switch {
	case e.Header != nil:
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

func (c *collector) add(v []byte) {
	switch {
	case c.found[string(v)]:
	case len(c.found) >= maxHunted:
		c.over++
	default:
		c.found[string(v)] = true
	}
}

// secrets are those that were found, without ids.
func (c *collector) secrets() (list [][]byte) {
	for s := range c.found {
		if v := []byte(s); looksKnown(v) || !c.ids[maphash.Bytes(c.seed, v)] {
			list = append(list, v)
		}
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
		key := b[from+1 : i-1]
		if !endsIn(key, "id") && !endsIn(key, "Id") && !endsIn(key, "ID") {
			continue
		}
		colon := wire.Space(b, i)
		if colon >= len(b) || b[colon] != ':' {
			continue
		}
		if v := wire.Space(b, colon+1); b[v] == '"' {
			i = wire.StringEnd(b, v)
			f(unquote(b[v:i]))
		}
	}
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
