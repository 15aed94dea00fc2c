package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"acp-shim/internal/wire"
	"acp-shim/record"
)

// Options say how a recording is read and played. The zero value takes what
// crossed between the client and the shim, asks for params that are alike, and
// plays as fast as it is read.
type Options struct {
	// AgentSide takes what crossed between the shim and the agents instead, so
	// that what plays it can stand behind a shim.
	AgentSide bool
	// Lenient lets a request whose params are not like any recorded one's have
	// the answer of the next recorded request of its method.
	Lenient bool
	// Speed divides the recorded gaps: 1 is as recorded, 10 ten times as fast. 0 is
	// without any.
	Speed float64

	// Damaged is told what of the recording could not be read and was passed over,
	// while it is read: a [*record.LineError], or a gap. Nil is for nobody.
	Damaged func(error)
	// Missed is told of each frame of the client's that no recorded one is like,
	// from within [Player.Write]: it must not call the player. Nil is for nobody.
	Missed func(Miss)
}

// Script is a recording, ready to be played any number of times, also at once.
type Script struct {
	opt      Options
	spool    spool
	items    items
	blocks   []*block
	index    map[place]*group
	sessions map[string]bool // that the client's requests are about
	methods  []string        // that were asked for, in order
	oneSided bool
}

// ErrNoRecording is the error for a file that is neither a capture nor lines of
// JSON-RPC.
var ErrNoRecording = errors.New("it is no recording: neither a capture of acp-shim nor lines of JSON-RPC")

// Open reads the recording in a file: a capture of acp-shim, compressed or not; or
// plain lines of JSON-RPC, one message a line, of both sides or of an agent's
// output alone; or such lines as {"from":"client","raw":"…"}. For an agent's
// output alone each request is inferred from its answer.
//
// A capture that goes on in other files beside this one is read with all of its
// parts, see [record.Parts]. A damaged line is passed over (see [Options.Damaged]); a
// torn last one is no damage. The error is ErrNoRecording where there is nothing to
// be played.
func Open(path string, o Options) (*Script, error) {
	if parts, err := record.Parts(path); err == nil && len(parts) > 1 {
		return New(inTurn(parts), o)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	defer f.Close()
	s, err := Parse(f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// inTurn are the entries of several captures, one behind the other.
func inTurn(paths []string) iter.Seq2[record.Entry, error] {
	return func(yield func(record.Entry, error) bool) {
		for _, path := range paths {
			c, err := record.Open(path)
			if err != nil {
				yield(record.Entry{}, err)
				return
			}
			for e, err := range c.Entries() {
				if !yield(e, err) {
					c.Close()
					return
				}
			}
			c.Close()
		}
	}
}

// zstdMagic is what a zstd frame begins with (RFC 8878, 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Parse reads a recording as Open does, to the end of r.
func Parse(r io.Reader, o Options) (*Script, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(64 << 10)
	if len(head) == 0 && err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading the recording: %w", err)
	}
	if bytes.HasPrefix(head, zstdMagic) || !isPlain(head) {
		return New(record.Read(in), o)
	}
	l := newLoader(o)
	if err := l.plain(in); err != nil {
		l.script.Close()
		return nil, err
	}
	return l.finish()
}

// isPlain tells lines of JSON-RPC from those of a capture, by the first that is an
// object.
func isPlain(head []byte) bool {
	for line := range bytes.Lines(head) {
		var m wire.Message
		m.Parse(line)
		if m.Kind < wire.Opaque {
			continue
		}
		if m.Kind != wire.Opaque {
			return true
		}
		names := map[string]bool{}
		for _, x := range m.Members(wire.Span{Off: wire.Space(line, 0), End: len(line)}) {
			names[x.Name] = true
		}
		return names["from"] && names["raw"] || names["jsonrpc"]
	}
	return false
}

// New makes a script of a capture's entries, as [record.Read] and
// [record.Capture.Entries] give them.
func New(entries iter.Seq2[record.Entry, error], o Options) (*Script, error) {
	l := newLoader(o)
	if err := l.capture(entries); err != nil {
		l.script.Close()
		return nil, err
	}
	return l.finish()
}

// Close removes the temporary file of a large recording. What plays the script
// then ends with an error.
func (s *Script) Close() error { return s.spool.close() }

// Directories are the working directories that the recorded sessions had.
func (s *Script) Directories() (list []string) {
	for _, b := range s.blocks {
		if b.cwd != "" && !slices.Contains(list, b.cwd) {
			list = append(list, b.cwd)
		}
	}
	return list
}

// line is an item's frame, with its line end.
func (s *Script) line(i int32) ([]byte, error) { return s.spool.read(s.items.at(i).ref) }

// params are those of a block's trigger.
func (s *Script) params(b *block) ([]byte, error) {
	if b.trigger < 0 {
		return nil, nil
	}
	line, err := s.line(b.trigger)
	if err != nil {
		return nil, err
	}
	var m wire.Message
	m.Parse(line)
	return m.Text(m.Params), nil
}

// number is the line of a block's trigger, or of what it says first.
func (s *Script) number(b *block) int {
	switch {
	case b.trigger >= 0:
		return int(s.items.at(b.trigger).line)
	case len(b.steps) > 0:
		return int(s.items.at(b.steps[0].item).line)
	}
	return 0
}
