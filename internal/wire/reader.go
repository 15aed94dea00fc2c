package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMax is the longest line that a Reader takes unless told otherwise.
const DefaultMax = 256 << 20

const (
	readSize = 256 << 10
	// keepSize is the largest buffer that is kept once it is empty.
	keepSize = 1 << 20
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

// Reader cuts a stream into batches of whole lines. It holds a line whole, in
// one growing buffer, and lets a large buffer go when it is empty.
type Reader struct {
	src  io.Reader
	max  int
	buf  []byte
	r, w int // buf[r:w] is unread
	scan int // buf[r:scan] has no line end
	skip bool
	err  error
}

// NewReader reads lines of at most max bytes (0: DefaultMax) from src.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMax
	}
	return &Reader{src: src, max: max}
}

// Next returns every whole line that one read brought, with their line ends,
// as one slice that is valid until the next call. A last line without an end is
// returned when the stream ends, before the stream's error. The error is a
// *TooLong for a line beyond the limit, after which Next may be called again.
func (r *Reader) Next() ([]byte, error) {
	r.release()
	for {
		if i := bytes.LastIndexByte(r.buf[r.scan:r.w], '\n'); i >= 0 {
			end := r.scan + i + 1
			if r.skip {
				r.skip = false
				first := r.r + bytes.IndexByte(r.buf[r.r:end], '\n') + 1
				r.r, r.scan = first, first
				continue
			}
			if long := r.tooLong(end); long != nil {
				return nil, long
			}
			batch := r.buf[r.r:end]
			r.r, r.scan = end, end
			return batch, nil
		}
		r.scan = r.w
		if r.skip {
			r.r, r.w, r.scan = 0, 0, 0
		} else if r.w-r.r > r.max {
			r.skip = true
			head := r.buf[r.r:min(r.w, r.r+4096)]
			r.r, r.scan = r.w, r.w
			return nil, &TooLong{r.max, head}
		}
		if r.err != nil {
			if rest := r.buf[r.r:r.w]; len(rest) > 0 && !r.skip {
				r.r, r.scan = r.w, r.w
				return rest, nil
			}
			return nil, r.err
		}
		r.fill()
	}
}

// tooLong tells whether the batch that ends at end opens with a line beyond the
// limit. Such a line cannot stand further back: all lines that one read ends are
// handed out together, so what grows in the buffer is always its first.
func (r *Reader) tooLong(end int) *TooLong {
	if end-r.r <= r.max {
		return nil
	}
	i := r.r + bytes.IndexByte(r.buf[r.r:end], '\n') + 1
	if i-r.r-1 <= r.max {
		return nil
	}
	head := r.buf[r.r:min(i, r.r+4096)]
	r.r, r.scan = i, i
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
	if r.r > 0 && used <= len(r.buf)/2 {
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
