package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
)

// Row is what is shown as one line: a record, or a stream of them.
type Row struct {
	*trace.Record // the first one
	// Count is how many records the row stands for.
	Count int
	// Last is when the last of them came.
	Last time.Duration
	// Size is the bytes of their text.
	Size int64
	// Text is the beginning of their text, joined.
	Text string
	// History tells of a stream of all that a load has replayed.
	History bool
}

// Gist is what matters of the row in a few words, not clean.
func (r *Row) Gist() string {
	if r.Count == 1 {
		return Gist(r.Record)
	}
	if r.History {
		return fmt.Sprintf("history of %d updates, %s: %s", r.Count, Bytes(r.Size), r.Text)
	}
	l := list{Bytes(r.Size)}
	took := r.Last - r.T
	if r.Event == "" && took >= time.Millisecond {
		l.add("in " + Duration(took))
		l.add(Rate(r.Count-1, took))
	}
	return l.String() + ": " + r.Text
}

// stream is what the records of one fold have in common.
type stream struct {
	run      int
	from, to proxy.Peer
	session  string
	what     string // the kind of update, or an event with its process
	why      string
	replayed bool
}

// A Folder turns records into rows. Chunks of one message or thought that follow
// each other become one row, and so do the updates of a replayed history and the
// lines of stderr. Streams of several sessions may run side by side; any other
// record ends them all, so that rows come in the order of their beginnings.
type Folder struct {
	// Emit takes the next row.
	Emit func(*Row)
	open []*fold
}

type fold struct {
	stream
	Row
	text strings.Builder
}

// maxFolds bounds the streams that run side by side.
const maxFolds = 64

// Add takes the next record.
func (f *Folder) Add(r *trace.Record) {
	key, text, ok := streamOf(r)
	if !ok {
		f.Flush()
		f.Emit(&Row{Record: r, Count: 1, Last: r.T})
		return
	}
	for _, o := range f.open {
		if o.stream == key {
			o.add(r, text)
			return
		}
		if r.Event == "" && o.session == key.session && o.Event == "" {
			f.Flush() // the session says something else now
			break
		}
	}
	if len(f.open) == maxFolds {
		f.Flush()
	}
	o := &fold{stream: key, Row: Row{Record: r, History: key.replayed}}
	o.add(r, text)
	f.open = append(f.open, o)
}

// Flush ends all streams.
func (f *Folder) Flush() {
	for _, o := range f.open {
		o.Text = o.text.String()
		f.Emit(&o.Row)
	}
	f.open = f.open[:0]
}

func (o *fold) add(r *trace.Record, text string) {
	o.Count++
	o.Last = r.T
	o.Size += int64(len(text))
	if room := head - o.text.Len(); room > 0 {
		if (r.Event != "" || o.History) && o.text.Len() > 0 && !strings.HasSuffix(o.text.String(), "\n") {
			o.text.WriteByte('\n')
		}
		o.text.WriteString(Begin(text, room))
	}
}

// streamOf tells the stream that a record may be folded into, and its text.
func streamOf(r *trace.Record) (key stream, text string, ok bool) {
	if r.Event == "stderr" {
		return stream{run: r.Run, what: fmt.Sprint("stderr ", r.Process())}, withoutGlog(string(r.Text)), true
	}
	if r.Kind != trace.Notification || r.Update == "" {
		return key, "", false
	}
	key = stream{run: r.Run, from: r.From, to: r.To, session: r.Session, what: r.Update, why: r.Why, replayed: r.Replayed}
	switch r.Update {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
		text = gjson.GetBytes(r.Body, "params.update.content.text").Str
	default:
		if !r.Replayed {
			return key, "", false
		}
	}
	if r.Replayed {
		key.what = ""
		if text == "" {
			text = Gist(r)
		}
	}
	return key, text, true
}
