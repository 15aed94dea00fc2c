package exchange

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"acp-shim/internal/wire"
	"acp-shim/record"
)

// capture writes an imported recording in the format of package record, whose doc
// has it. A record.Writer would drop frames that come faster than the disk.
type capture struct {
	out  *bufio.Writer
	im   Import
	done Imported

	sides  sides
	agent  record.AgentHeader
	origin string // who recorded it, where it says so
	start  time.Time
	began  time.Duration // what relative times count from
	last   time.Duration
	seq    uint64
	bytes  uint64
}

// deepest is how deep a frame nests that is embedded: many readers give up at a
// thousand.
const deepest = 1000

func (w *capture) add(m message) error {
	var p wire.Message
	p.Parse(m.line)
	if !m.labelled {
		m.from = w.im.From
		if w.im.Infer {
			m.from = w.sides.of(&p)
		}
	}
	w.sides.see(&p, m.from)
	if w.seq == 0 {
		if err := w.begin(m); err != nil {
			return err
		}
	}
	w.last = max(w.last, w.at(m.when))
	w.seq++
	w.done.Frames++
	w.done.Sides[m.from]++
	w.bytes += uint64(len(m.line))
	from, to := "client", "agent#1"
	if m.from == Agent {
		from, to = to, from
	}
	fmt.Fprintf(w.out, `{"seq":%d,"t":%d,"from":%q,"to":%q`, w.seq, int64(w.last), from, to)
	w.frame(m.line)
	_, err := w.out.WriteString("}\n")
	return err
}

// at is when a frame was seen, counted from the start. One that does not tell comes
// a microsecond after the one before, so that the order is to be seen.
func (w *capture) at(when moment) time.Duration {
	switch when.kind {
	case absolute:
		w.done.Timed = true
		return when.at.Sub(w.start)
	case relative:
		w.done.Timed = true
		return when.after - w.began
	}
	return w.last + time.Microsecond
}

// begin writes the header. The run's name depends on the recording alone: what is
// imported twice is the same run.
func (w *capture) begin(m message) error {
	if w.start.IsZero() {
		w.start = w.im.Start
		if m.when.kind == absolute {
			w.start = m.when.at
		}
	}
	if m.when.kind == relative {
		w.began = m.when.after
	}
	w.start = w.start.UTC()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", w.im.Name, w.start.Format(time.RFC3339Nano), m.line))
	if w.agent.Name == "" {
		w.agent.Name = w.im.Name
	}
	head, err := json.Marshal(&record.Header{
		Format: record.Format, Version: record.FormatVersion, Start: w.start, Shim: w.im.Version,
		Run: hex.EncodeToString(sum[:8]), Part: 1, Agent: w.agent,
	})
	if err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	w.out.Write(head)
	w.out.WriteByte('\n')
	origin := w.done.Format
	if w.origin != "" {
		origin += ", " + w.origin
	}
	return w.event("note", "imported from "+w.im.Name+" ("+origin+")", nil)
}

func (w *capture) event(kind, text string, data any) error {
	w.seq++
	fmt.Fprintf(w.out, `{"seq":%d,"t":%d,"event":%q`, w.seq, int64(w.last), kind)
	if text != "" {
		w.out.WriteString(`,"text":`)
		w.out.Write(quoted([]byte(text)))
	}
	if data != nil {
		b, err := json.Marshal(data)
		if err != nil {
			return err
		}
		w.out.WriteString(`,"data":`)
		w.out.Write(b)
	}
	_, err := w.out.WriteString("}\n")
	return err
}

// frame writes a line so that it can be had back byte for byte.
func (w *capture) frame(line []byte) {
	body := bytes.Trim(line, " \t\r\n")
	at := bytes.Index(line, body)
	pre, post := line[:at], line[at+len(body):]
	if len(pre) > 0 {
		w.out.WriteString(`,"pre":`)
		w.out.Write(quoted(pre))
	}
	switch {
	case !utf8.Valid(body):
		w.out.WriteString(`,"base64":"`)
		w.out.WriteString(base64.StdEncoding.EncodeToString(body))
		w.out.WriteByte('"')
	case wire.Valid(body) && !bytes.ContainsAny(body, "\r\n") && depth(body) < deepest:
		w.out.WriteString(`,"frame":`)
		w.out.Write(body)
	default:
		w.out.WriteString(`,"text":`)
		w.out.Write(quoted(body))
	}
	if string(post) != "\n" {
		w.out.WriteString(`,"post":`)
		w.out.Write(quoted(post))
	}
}

// depth is how deep the arrays and objects of a valid value nest.
func depth(b []byte) int {
	most, now := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = wire.StringEnd(b, i) - 1
		case '{', '[':
			now++
			most = max(most, now)
		case '}', ']':
			now--
		}
	}
	return most
}

func quoted(text []byte) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(string(text))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (w *capture) end() error {
	if !w.done.Timed {
		if err := w.event("note", "the recording has no times: a microsecond stands between two frames", nil); err != nil {
			return err
		}
	}
	err := w.event("end", "", map[string]uint64{
		"frames": uint64(w.done.Frames), "events": w.seq - uint64(w.done.Frames), "bytes": w.bytes, "lost": 0,
	})
	if err != nil {
		return err
	}
	return w.out.Flush()
}
