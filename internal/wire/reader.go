package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// DefaultMax is the longest line that a Reader takes unless told otherwise.
const DefaultMax = 256 << 20

const (
	readSize = 256 << 10
	// chunkSize is how far the buffer grows. A line that is longer is gathered
	// from chunks: doubling a buffer leaves as much behind as the line is long.
	chunkSize = 4 << 20
	// Alone is the length beyond which a line lies in a buffer that is its own: nobody
	// writes to it again, and who needs the line later need not copy it.
	Alone = chunkSize
	// keepSize is the largest buffer that is kept once it is empty: every process has one,
	// and each would keep the largest that it ever needed.
	keepSize = readSize
)

// TooLong is the error for a line beyond the limit. The line is passed over to
// its end, and the reader goes on behind it.
type TooLong struct {
	Max int
	// Head is the beginning of the line, valid until the next call.
	Head []byte
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("a line is longer than %d bytes", e.Max)
}

// Reader cuts a stream into batches of whole lines. It holds a line whole, and
// lets a large buffer go when it is empty.
type Reader struct {
	src    io.Reader
	max    int
	chunk  int // chunkSize, but for tests
	buf    []byte
	r, w   int      // buf[r:w] is unread
	scan   int      // buf[r:scan] has no line end
	chunks [][]byte // the line that goes on in buf, up to there
	size   int      // the bytes in chunks
	skip   bool
	err    error
}

// NewReader reads lines of at most max bytes (0: DefaultMax) from src.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMax
	}
	return &Reader{src: src, max: max, chunk: chunkSize}
}

// Next returns every whole line that one read brought, with their line ends,
// as one slice that is valid until the next call. A last line without an end is
// returned when the stream ends, before the stream's error. The error is a
// *TooLong for a line beyond the limit, after which Next may be called again.
func (r *Reader) Next() ([]byte, error) {
	r.release()
	for {
		fresh := r.buf[r.scan:r.w]
		if i := bytes.LastIndexByte(fresh, '\n'); i >= 0 {
			end := r.scan + i + 1
			first := end
			if r.skip || r.size > 0 || end-r.r > r.max {
				first = r.scan + bytes.IndexByte(fresh, '\n') + 1
			}
			switch {
			case r.skip:
				r.skip = false
				r.r, r.scan = first, first
				continue
			case r.size+first-r.r-1 > r.max:
				return nil, r.tooLong(first)
			case r.size > 0:
				return r.whole(first), nil
			case end-r.r > r.max:
				end = first // a later one may be too long
			}
			batch := r.buf[r.r:end]
			r.r, r.scan = end, end
			return batch, nil
		}
		r.scan = r.w
		if r.skip {
			r.r, r.w, r.scan = 0, 0, 0
		} else if r.size+r.w-r.r > r.max {
			r.skip = true
			return nil, r.tooLong(r.w)
		}
		if r.err != nil {
			if r.skip || r.size+r.w-r.r == 0 {
				return nil, r.err
			}
			if r.size > 0 {
				return r.whole(r.w), nil
			}
			rest := r.buf[r.r:r.w]
			r.r, r.scan = r.w, r.w
			return rest, nil
		}
		r.fill()
	}
}

// whole puts the line together that ends at buf[end].
func (r *Reader) whole(end int) []byte {
	line := make([]byte, 0, r.size+end-r.r)
	for _, c := range r.chunks {
		line = append(line, c...)
	}
	line = append(line, r.buf[r.r:end]...)
	r.chunks, r.size = nil, 0
	r.r, r.scan = end, end
	if len(line) > 2*chunkSize {
		// Whoever has to keep the line finds the chunks' place for it.
		runtime.GC()
	}
	return line
}

// tooLong passes over a line beyond the limit, or the part of it that ends at
// buf[end]. Such a line always is the first that is unread.
func (r *Reader) tooLong(end int) *TooLong {
	head := r.buf[r.r:end]
	if len(r.chunks) > 0 {
		head = r.chunks[0]
	}
	head = append([]byte(nil), head[:min(len(head), 4096)]...)
	r.chunks, r.size = nil, 0
	r.r, r.scan = end, end
	return &TooLong{r.max, head}
}

func (r *Reader) fill() {
	if r.w == len(r.buf) {
		r.grow()
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if err != nil {
			r.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	r.err = io.ErrNoProgress
}

func (r *Reader) grow() {
	used := r.w - r.r
	if used >= r.chunk {
		r.chunks = append(r.chunks, r.buf[r.r:r.w])
		r.size += used
		r.buf = make([]byte, r.chunk)
		r.r, r.w, r.scan = 0, 0, 0
		return
	}
	if r.r > 0 && used <= len(r.buf)/2 || len(r.buf) >= r.chunk {
		// Larger than a chunk it must not become: what is longer lies Alone.
		copy(r.buf, r.buf[r.r:r.w])
	} else {
		buf := make([]byte, max(readSize, 2*len(r.buf)))
		copy(buf, r.buf[r.r:r.w])
		r.buf = buf
	}
	r.scan -= r.r
	r.r, r.w = 0, used
}

// release starts over at the front of an empty buffer, and drops it where one
// large frame has made it large.
func (r *Reader) release() {
	if r.r != r.w {
		return
	}
	r.r, r.w, r.scan = 0, 0, 0
	if len(r.buf) > keepSize {
		r.buf = nil
	}
}

// Cut splits the first line off a batch. The line keeps the batch's capacity, so
// that lines which lie side by side can leave in one write; do not append to it.
func Cut(batch []byte) (line, rest []byte) {
	if i := bytes.IndexByte(batch, '\n'); i >= 0 {
		return batch[:i+1], batch[i+1:]
	}
	return batch, nil
}

// AsTooLong tells a line beyond the limit from the end of the stream.
func AsTooLong(err error) (*TooLong, bool) {
	var t *TooLong
	ok := errors.As(err, &t)
	return t, ok
}
