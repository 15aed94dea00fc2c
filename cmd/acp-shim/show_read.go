package main

import (
	"errors"
	"fmt"
	"iter"
	"os"

	"acp-shim/internal/trace"
	"acp-shim/record"
)

// fromStdin stands for the standard input in place of a file.
const fromStdin = "-"

// captures are the entries of captures, one after the other: files of one run, in
// their order, are read as one. silent tells that nothing is printed while they are
// read.
func captures(paths []string, silent bool) iter.Seq2[record.Entry, error] {
	return func(yield func(record.Entry, error) bool) {
		for _, path := range paths {
			entries, done, err := capture(path, silent)
			if err != nil {
				yield(record.Entry{}, err)
				return
			}
			for e, err := range entries {
				if !yield(e, inFile(path, err)) {
					done()
					return
				}
			}
			done()
		}
	}
}

func capture(path string, silent bool) (entries iter.Seq2[record.Entry, error], done func(), err error) {
	if path == fromStdin {
		return record.Read(os.Stdin), func() {}, nil
	}
	c, err := record.Open(path)
	if err != nil {
		return nil, nil, err
	}
	stop := watchReading(path, c.Progress, silent)
	return c.Entries(), func() { stop(); c.Close() }, nil
}

// inFile says which file an error is about. A damaged line stays one.
func inFile(path string, err error) error {
	if err == nil || path == fromStdin {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// damage tells of lines that could not be read, not of all when they are many.
type damage struct {
	lines int
	good  bool     // there was a line of a capture
	held  []string // what is told only of a capture
}

const (
	maxTold = 20
	// noCapture is how many lines must be damaged, and none good, until it is clear
	// that the standard input is no capture at all.
	noCapture = 10
)

// tell passes over a damaged line, and returns any other error.
func (d *damage) tell(err error) error {
	var line *record.LineError
	if !errors.As(err, &line) {
		return err
	}
	d.lines++
	switch {
	case !d.good && d.lines >= noCapture:
		return fmt.Errorf("this is no capture: %w", err)
	case !d.good:
		d.held = append(d.held, shown(err.Error())+"; the line is passed over")
	case d.lines <= maxTold:
		complain(errors.New(shown(err.Error()) + "; the line is passed over"))
	case d.lines == maxTold+1:
		complain(errors.New("more lines are damaged; see the count at the end"))
	}
	return nil
}

// first tells that there was a line of a capture.
func (d *damage) first() {
	d.good = true
	for _, text := range d.held {
		complain(errors.New(text))
	}
	d.held = nil
}

// end tells how many lines were damaged where not each of them was told.
func (d *damage) end() {
	if d.lines > maxTold {
		complain(fmt.Errorf("%d lines were damaged and passed over", d.lines))
	}
}

// records calls each for the records of entries. Damaged lines are told.
func records(entries iter.Seq2[record.Entry, error], d *damage, each func(*trace.Record) error) error {
	for r, err := range trace.Read(entries) {
		if err != nil {
			if err = d.tell(err); err != nil {
				return err
			}
			continue
		}
		if !d.good {
			d.first()
		}
		if err := each(r); err != nil {
			return err
		}
	}
	d.end()
	if !d.good && d.lines > 0 {
		return errors.New("this is no capture: " + d.held[0])
	}
	return nil
}
