package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"sync/atomic"
)

// maxLine is the longest line that is read: the longest frame that the shim
// takes, in base64 or with its quotes escaped. A longer one is damage.
const maxLine = 600 << 20

// Read goes through the lines of a capture, header first, in one pass and with
// one line in memory at a time. A line that is damaged is an error, of type
// [*LineError], with an Entry that has only its Line; the loop may go on to
// the next line. A last line without an end that is no whole entry was torn by a
// kill and is passed over. Any other error ends the loop.
//
// A capture that is compressed with zstd is decoded on the way; one that was torn
// is read as far as it goes.
func Read(r io.Reader) iter.Seq2[Entry, error] { return read(r, maxLine) }

func read(r io.Reader, limit int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in, end, err := plain(bufio.NewReaderSize(r, 64<<10))
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer end()
		for n := 1; ; n++ {
			line, long, err := readLine(in, limit)
			if err != nil && err != io.EOF {
				yield(Entry{Line: n}, fmt.Errorf("reading the capture, line %d: %w", n, err))
				return
			}
			var e Entry
			var bad error
			switch text := bytes.TrimSpace(line); {
			case long:
				bad = fmt.Errorf("it is longer than %d bytes", limit)
			case len(text) > 0:
				e, bad = parse(text)
			case err == io.EOF:
				return
			default:
				continue
			}
			e.Line = n
			if bad != nil {
				if err == io.EOF {
					return
				}
				if !yield(Entry{Line: n}, &LineError{n, bad}) {
					return
				}
			} else if !yield(e, nil) {
				return
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// readLine returns the next line in memory of its own. long tells that it was
// too long and is not returned. At the end of the stream the error is io.EOF,
// with what there was without a line end.
func readLine(in *bufio.Reader, limit int) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if len(line) > limit {
				line, long = nil, true
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// Capture is a capture in a file.
type Capture struct {
	// Header is that of its first line, nil where that line is no header.
	Header *Header
	file   *os.File
	done   atomic.Int64
}

// Open opens a capture to be read. One that has been compressed since, and so is
// called path.zst now, is found. Open fails where the file cannot be opened or
// holds nothing of a capture in its first lines.
func Open(path string) (*Capture, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if z, zerr := os.Open(path + compressed); zerr == nil {
			f, err = z, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the capture: %w", err)
	}
	c := &Capture{file: f}
	var bad error
	for e, err := range c.Entries() {
		if err == nil {
			c.Header = e.Header
			return c, nil
		}
		if bad = err; e.Line > 10 {
			break
		}
	}
	f.Close()
	if bad == nil {
		bad = errors.New("it is empty")
	}
	return nil, fmt.Errorf("%s is no capture: %w", path, bad)
}

// Entries goes through the capture from its first line, as [Read] does. It may be
// called again, also while another loop is running.
func (c *Capture) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		c.done.Store(0)
		Read(&counted{io.NewSectionReader(c.file, 0, math.MaxInt64), &c.done})(yield)
	}
}

// Progress is how many bytes of the file the last loop over its entries has read, and
// how many there are. It may be called from any goroutine.
func (c *Capture) Progress() (done, size int64) {
	info, err := c.file.Stat()
	if err != nil {
		return 0, 0
	}
	return c.done.Load(), info.Size()
}

// counted counts what is read.
type counted struct {
	r    io.Reader
	done *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.done.Add(int64(n))
	return n, err
}

// Close closes the file. Loops over its entries end with an error.
func (c *Capture) Close() error { return c.file.Close() }
