package record

import (
	"encoding/binary"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// chunkSize is what the queue grows by. A record that is larger has a chunk of
// its own, so that no byte of it is copied twice.
const chunkSize = 64 << 10

// keepChunks is how many empty chunks are kept, so that recording does not
// allocate.
const keepChunks = 32

// queue holds records in the order in which they came, until the flusher takes
// them. A record is a copy of what a Tap was given, but for bytes that nobody writes to
// again, with no work done on it.
type queue struct {
	chunks [][]byte // full, and the last one being filled
	// apart are the bytes of frames that lie in memory of their own, in order: what
	// is large is not copied.
	apart [][]byte
	free  [][]byte
	// held is the memory of chunks, and of those that the flusher has and has
	// not given back.
	held, max int
	// full tells that something was turned away, and that all will be until
	// half of the room is free: so one gap stands for one slow spell.
	full bool
}

// reserve returns a chunk with room for n bytes, to be given to [queue.commit]
// when they were appended to it, or nil where there is no room for them and for apart
// bytes elsewhere. One record of any size is taken while at most half of the room is
// used.
func (q *queue) reserve(n, apart int) []byte {
	if q.full {
		if q.held > q.max/2 {
			return nil
		}
		q.full = false
	}
	size := max(n, min(chunkSize, q.max/4))
	last := len(q.chunks) - 1
	if last >= 0 && cap(q.chunks[last])-len(q.chunks[last]) >= n {
		size = 0
	}
	if size+apart > 0 && q.held > q.max/2 && q.held+size+apart > q.max {
		q.full = true
		return nil
	}
	q.held += size + apart
	if size == 0 {
		c := q.chunks[last]
		q.chunks = q.chunks[:last]
		return c
	}
	if k := len(q.free); k > 0 && size == cap(q.free[k-1]) {
		c := q.free[k-1]
		q.free = q.free[:k-1]
		return c
	}
	return make([]byte, 0, size)
}

func (q *queue) commit(c []byte) { q.chunks = append(q.chunks, c) }

// take hands all chunks over, with what lies apart, and gets a slice to collect the
// next ones in.
func (q *queue) take(into [][]byte) (chunks, apart [][]byte) {
	chunks, apart = q.chunks, q.apart
	q.chunks, q.apart = into[:0], nil
	return chunks, apart
}

// give takes back a chunk that was read, and what lay apart of its frames.
func (q *queue) give(c []byte, apart int) {
	q.held -= cap(c) + apart
	if cap(c) == min(chunkSize, q.max/4) && len(q.free) < keepChunks {
		q.free = append(q.free, c[:0])
	}
}

// A record in the queue: a fixed head, and then the bytes whose lengths stand
// in it. Fields are little-endian.
const (
	isFrame = 'F'
	isEvent = 'E'
	isGap   = 'G'
)

// record is one as read back. It aliases the queue.
type record struct {
	kind byte
	seq  uint64
	t    int64

	// Of a frame.
	from, to proxy.Peer
	again    bool
	form     uint32 // those of one form differ in nothing but one string; 0 for none
	varies   wire.Span
	bytes    []byte
	why      []byte
	apart    [][]byte // those of frames to come
	far      int      // bytes that lay apart, since somebody last looked
	edits    []edit

	// Of an event, beside bytes, which are its text.
	event, session, data []byte
	agent                int

	gap Gap // of a gap
}

const (
	flagAgain = 1 << iota
	flagApart // the bytes are the next ones of those that lie apart
)

// frameHead is the head of a frame's record: kind, seq, time, from, to, flags, how many
// edits, bytes and bytes of why follow, and the form and where the string is that
// differs.
const frameHead = 1 + 8 + 8 + 4 + 4 + 1 + 3*4 + 3*4

// frameSize is the room that the record of a frame takes, but for its bytes where
// they lie apart.
func frameSize(f *proxy.Frame) int {
	n := frameHead + len(f.Why)
	if !f.Own {
		n += len(f.Bytes)
	}
	for i := range f.Edits {
		n += 3*4 + len(f.Edits[i].Old) + len(f.Edits[i].New)
	}
	return n
}

// appendFrame appends to b, which has room for it.
func appendFrame(b []byte, seq uint64, t int64, f *proxy.Frame) []byte {
	at := len(b)
	b = b[:at+frameHead]
	h := (*[frameHead]byte)(b[at:])
	h[0] = isFrame
	binary.LittleEndian.PutUint64(h[1:], seq)
	binary.LittleEndian.PutUint64(h[9:], uint64(t))
	binary.LittleEndian.PutUint32(h[17:], uint32(f.From))
	binary.LittleEndian.PutUint32(h[21:], uint32(f.To))
	h[25] = 0
	if f.Again {
		h[25] |= flagAgain
	}
	if f.Own {
		h[25] |= flagApart
	}
	binary.LittleEndian.PutUint32(h[26:], uint32(len(f.Edits)))
	binary.LittleEndian.PutUint32(h[30:], uint32(len(f.Bytes)))
	binary.LittleEndian.PutUint32(h[34:], uint32(len(f.Why)))
	var form uint32
	var varies wire.Span
	if m := f.Message; m != nil && len(f.Edits) == 0 && len(m.Raw) == len(f.Bytes) {
		form, varies = m.Form, m.Varies
	}
	binary.LittleEndian.PutUint32(h[38:], form)
	binary.LittleEndian.PutUint32(h[42:], uint32(varies.Off))
	binary.LittleEndian.PutUint32(h[46:], uint32(varies.End))
	if !f.Own {
		b = append(b, f.Bytes...)
	}
	b = append(b, f.Why...)
	for i := range f.Edits {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.Edits[i].At))
		b = appendSized(b, f.Edits[i].Old)
		b = appendSized(b, f.Edits[i].New)
	}
	return b
}

// readFrame takes the record of a frame off a chunk.
func (r *record) readFrame(b []byte) (rest []byte) {
	h := (*[frameHead]byte)(b)
	r.kind, r.again = isFrame, h[25]&flagAgain != 0
	r.seq, r.t = binary.LittleEndian.Uint64(h[1:]), int64(binary.LittleEndian.Uint64(h[9:]))
	r.from, r.to = proxy.Peer(binary.LittleEndian.Uint32(h[17:])), proxy.Peer(binary.LittleEndian.Uint32(h[21:]))
	r.form = binary.LittleEndian.Uint32(h[38:])
	r.varies = wire.Span{Off: int(binary.LittleEndian.Uint32(h[42:])), End: int(binary.LittleEndian.Uint32(h[46:]))}
	edits, bytes, why := binary.LittleEndian.Uint32(h[26:]), binary.LittleEndian.Uint32(h[30:]), binary.LittleEndian.Uint32(h[34:])
	b = b[frameHead:]
	if h[25]&flagApart != 0 {
		r.bytes, r.apart[0] = r.apart[0], nil
		r.apart, r.far = r.apart[1:], r.far+len(r.bytes)
	} else {
		r.bytes, b = b[:bytes:bytes], b[bytes:]
	}
	r.why, b = b[:why:why], b[why:]
	r.edits = r.edits[:0]
	in := reading{b}
	for range edits {
		r.edits = append(r.edits, edit{int(in.uint32()), in.sized(), in.sized()})
	}
	r.data = nil
	return in.b
}

func eventSize(e *proxy.Event) int {
	return 1 + 8 + 8 + 4 + 4*4 + len(e.Kind) + len(e.Session) + len(e.Text) + len(e.Data)
}

func appendEvent(b []byte, seq uint64, t int64, e *proxy.Event) []byte {
	b = appendHead(b, isEvent, seq, t)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Agent))
	b = appendSized(b, e.Kind)
	b = appendSized(b, e.Session)
	b = appendSized(b, e.Text)
	return appendSized(b, e.Data)
}

func gapSize(g *Gap) int { return 1 + 8 + 8 + 5*8 + 4 + len(g.Why) }

func appendGap(b []byte, seq uint64, t int64, g *Gap) []byte {
	b = appendHead(b, isGap, seq, t)
	for _, n := range [...]uint64{g.Frames, g.Events, g.Bytes, g.First, g.Last} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return appendSized(b, g.Why)
}

func appendHead(b []byte, kind byte, seq uint64, t int64) []byte {
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint64(b, seq)
	return binary.LittleEndian.AppendUint64(b, uint64(t))
}

func appendSized[S []byte | string](b []byte, s S) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// read takes the first record off a chunk.
func (r *record) read(b []byte) (rest []byte) {
	if b[0] == isFrame {
		return r.readFrame(b)
	}
	*r = record{kind: b[0], edits: r.edits[:0], apart: r.apart, far: r.far}
	in := reading{b[1:]}
	r.seq, r.t = in.uint64(), int64(in.uint64())
	switch r.kind {
	case isEvent:
		r.agent = int(int32(in.uint32()))
		r.event, r.session, r.bytes, r.data = in.sized(), in.sized(), in.sized(), in.sized()
	case isGap:
		g := &r.gap
		for _, n := range [...]*uint64{&g.Frames, &g.Events, &g.Bytes, &g.First, &g.Last} {
			*n = in.uint64()
		}
		g.Why = string(in.sized())
	}
	return in.b
}

type reading struct{ b []byte }

func (r *reading) uint32() uint32 {
	n := binary.LittleEndian.Uint32(r.b)
	r.b = r.b[4:]
	return n
}

func (r *reading) uint64() uint64 {
	n := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return n
}

func (r *reading) sized() []byte {
	n := r.uint32()
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}
