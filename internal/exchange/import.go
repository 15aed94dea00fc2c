package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/record"
)

// Import says how a recording of somebody else's is read.
type Import struct {
	// Name is what the recording is called, Version the shim's.
	Name, Version string
	// Start is the time of the first frame where the recording knows none.
	Start time.Time
	// From is the side of lines that do not say whose they are; with Infer it is
	// inferred, line by line.
	From  Side
	Infer bool
	// Damaged is told of what is passed over.
	Damaged func(*record.LineError)
}

// Imported is what came of an import.
type Imported struct {
	Format  string // "JSON lines" or "acp-devtools"
	Frames  int
	Sides   [2]int // frames by Side
	Damaged int
	Timed   bool // the recording knew times
}

// maxLine is the longest line of a recording.
const maxLine = wire.DefaultMax

// Run writes a raw capture of a recording, which it reads once and a message at a
// time. A last line that was cut off is passed over; any other that holds no
// message is told of.
func (im Import) Run(in io.Reader, out io.Writer) (Imported, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	w := &capture{out: bufio.NewWriterSize(out, 256<<10), im: im}
	w.sides.open = map[asked]bool{}
	w.done.Format = "JSON lines"
	var err error
	switch first(r) {
	case "version", "exportedAt", "tool", "session", "messages":
		w.done.Format = "acp-devtools"
		err = w.devtools(r)
	case "format":
		err = w.ours(r)
	default:
		err = w.lines(r)
	}
	if err == nil && w.done.Frames == 0 {
		err = errors.New("there is no JSON-RPC message in it; see acp-shim help import for what can be read")
	}
	if err == nil {
		err = w.end()
	}
	return w.done, err
}

// first is the first key of the first object, by which formats are told apart.
func first(r *bufio.Reader) string {
	head, _ := r.Peek(4096)
	d := json.NewDecoder(bytes.NewReader(head))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	key, _ := d.Token()
	s, _ := key.(string)
	return s
}

// ours refuses what needs no import.
func (w *capture) ours(r *bufio.Reader) error {
	for e, err := range record.Read(r) {
		if err == nil && e.Header != nil {
			return errors.New("this is a capture already")
		}
		break
	}
	return errors.New("its format is not known; see acp-shim help import for what can be read")
}

// lines reads a message a line.
func (w *capture) lines(r *bufio.Reader) error {
	for n := 1; ; n++ {
		line, long, err := readLine(r, maxLine)
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading %s, line %d: %w", w.im.Name, n, err)
		}
		end := err == io.EOF
		switch {
		case long:
			w.damaged(n, errors.New("it is too long"))
		case len(bytes.TrimSpace(line)) == 0:
		case end && !wire.Valid(line): // torn
		default:
			if err := w.line(n, line); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

func (w *capture) line(n int, line []byte) error {
	m, err := unwrap(line)
	switch {
	case err != nil && !w.im.Infer && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")):
		// What a program prints beside the protocol is part of its stream.
		m = message{line: line}
	case errors.Is(err, errNoFrame):
		return nil
	case err != nil:
		w.damaged(n, err)
		return nil
	}
	return w.add(m)
}

func (w *capture) damaged(n int, err error) {
	w.done.Damaged++
	if w.im.Damaged != nil {
		w.im.Damaged(&record.LineError{Line: n, Err: err})
	}
}

// readLine returns the next line with its end; long tells that it was too long and
// is not there.
func readLine(in *bufio.Reader, limit int) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			if line = append(line, part...); len(line) > limit {
				line, long = nil, true
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
