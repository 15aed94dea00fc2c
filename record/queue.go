package record

import (
	"encoding/binary"

	"acp-shim/proxy"
)

// chunkSize is what the queue grows by. A record that is larger has a chunk of
// its own, so that no byte of it is copied twice.
const chunkSize = 64 << 10

// keepChunks is how many empty chunks are kept, so that recording does not
// allocate.
const keepChunks = 32

// queue holds records in the order in which they came, until the flusher takes
// them. A record is a copy of what a Tap was given, with no work done on it.
type queue struct {
	chunks [][]byte // full, and the last one being filled
	free   [][]byte
	// held is the memory of chunks, and of those that the flusher has and has
	// not given back.
	held, max int
	// full tells that something was turned away, and that all will be until
	// half of the room is free: so one gap stands for one slow spell.
	full bool
}

// reserve returns a chunk with room for n bytes, to be given to [queue.commit]
// when they were appended to it, or nil where there is no room. One record of
// any size is taken while at most half of the room is used.
func (q *queue) reserve(n int) []byte {
	if q.full {
		if q.held > q.max/2 {
			return nil
		}
		q.full = false
	}
	if k := len(q.chunks); k > 0 {
		if c := q.chunks[k-1]; cap(c)-len(c) >= n {
			q.chunks = q.chunks[:k-1]
			return c
		}
	}
	size := max(n, min(chunkSize, q.max/4))
	if q.held > q.max/2 && q.held+size > q.max {
		q.full = true
		return nil
	}
	q.held += size
	if k := len(q.free); k > 0 && size == cap(q.free[k-1]) {
		c := q.free[k-1]
		q.free = q.free[:k-1]
		return c
	}
	return make([]byte, 0, size)
}

func (q *queue) commit(c []byte) { q.chunks = append(q.chunks, c) }

// take hands all chunks over, and gets a slice to collect the next ones in.
func (q *queue) take(into [][]byte) [][]byte {
	taken := q.chunks
	q.chunks = into[:0]
	return taken
}

// give takes back a chunk that was read.
func (q *queue) give(c []byte) {
	q.held -= cap(c)
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
	bytes    []byte
	why      []byte
	edits    []edit

	// Of an event, beside bytes, which are its text.
	event, session, data []byte
	agent                int

	gap Gap // of a gap
}

func frameSize(f *proxy.Frame) int {
	n := 1 + 8 + 8 + 4 + 4 + 1 + 3*4 + len(f.Bytes) + len(f.Why)
	for i := range f.Edits {
		n += 3*4 + len(f.Edits[i].Old) + len(f.Edits[i].New)
	}
	return n
}

func appendFrame(b []byte, seq uint64, t int64, f *proxy.Frame) []byte {
	b = appendHead(b, isFrame, seq, t)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.From))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.To))
	again := byte(0)
	if f.Again {
		again = 1
	}
	b = append(b, again)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Edits)))
	b = appendSized(b, f.Bytes)
	b = appendSized(b, f.Why)
	for i := range f.Edits {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.Edits[i].At))
		b = appendSized(b, f.Edits[i].Old)
		b = appendSized(b, f.Edits[i].New)
	}
	return b
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
	edits := r.edits[:0]
	*r = record{kind: b[0]}
	in := reading{b[1:]}
	r.seq, r.t = in.uint64(), int64(in.uint64())
	switch r.kind {
	case isFrame:
		r.from, r.to = proxy.Peer(in.uint32()), proxy.Peer(in.uint32())
		r.again = in.b[0] == 1
		in.b = in.b[1:]
		n := in.uint32()
		r.bytes, r.why = in.sized(), in.sized()
		for range n {
			edits = append(edits, edit{int(in.uint32()), in.sized(), in.sized()})
		}
		r.edits = edits
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
