package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"acp-shim/record"
)

// redactCmd makes a capture that can be shown to others of one that was recorded
// raw, or by a version that knew less.
type redactCmd struct {
	File   string `arg:"" help:"The capture; - reads standard input."`
	Output string `short:"o" placeholder:"FILE" help:"Where to write; - is standard output. A name that ends in .zst is compressed. Without it, FILE with .redacted before its extension."`
	Force  bool   `help:"Overwrite the output file."`
}

func (r redactCmd) Run() error {
	in, done, err := rereadable(r.File)
	if err != nil {
		return failed(err)
	}
	defer done()
	out := r.Output
	if out == "" {
		out = redactedName(r.File)
	}
	damaged := func(err *record.LineError) {
		fmt.Fprintln(os.Stderr, "acp-shim:", shown(err.Error())+"; the line is left out")
	}
	report := os.Stdout
	var sum record.Redaction
	if out == "-" {
		report = os.Stderr
		sum, err = record.RedactCapture(in, os.Stdout, damaged)
	} else {
		sum, err = r.write(in, out, damaged)
	}
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(report, "%s: %d frames, %d events; %d secrets were hunted for in all of it\n", shown(out), sum.Frames, sum.Events, sum.Hunted)
	if sum.Unhunted > 0 {
		return failed(fmt.Errorf("%d more secrets were replaced where they stood as such, but not looked for elsewhere; redact the capture in pieces", sum.Unhunted))
	}
	if sum.Damaged > 0 {
		return failed(fmt.Errorf("%d lines could not be read and are left out", sum.Damaged))
	}
	return nil
}

// redactedName is where what was redacted goes unless told otherwise.
func redactedName(name string) string {
	if name == "-" {
		return "-"
	}
	base, zst := strings.CutSuffix(name, ".zst")
	ext := filepath.Ext(base)
	out := strings.TrimSuffix(base, ext) + ".redacted" + ext
	if zst {
		out += ".zst"
	}
	return out
}

// rereadable opens a capture that has to be read twice. Standard input is kept in
// a file until done is called.
func rereadable(name string) (open func() (io.ReadCloser, error), done func(), err error) {
	if name != "-" {
		// What is no capture at all is told before anything is written.
		c, err := record.Open(name)
		if err != nil {
			return nil, nil, err
		}
		c.Close()
		if _, err := os.Stat(name); err != nil {
			name += ".zst" // compressed since
		}
		return func() (io.ReadCloser, error) { return os.Open(name) }, func() {}, nil
	}
	f, err := os.CreateTemp("", "acp-shim-redact-*")
	if err != nil {
		return nil, nil, fmt.Errorf("keeping standard input, which is read twice: %w", err)
	}
	done = func() {
		f.Close()
		os.Remove(f.Name())
	}
	if _, err := io.Copy(f, os.Stdin); err != nil {
		done()
		return nil, nil, fmt.Errorf("reading standard input: %w", err)
	}
	c, err := record.Open(f.Name())
	if err != nil {
		done()
		return nil, nil, errors.New("what standard input holds is no capture")
	}
	c.Close()
	return func() (io.ReadCloser, error) { return os.Open(f.Name()) }, done, nil
}

// write makes the output file in one step: there is never half of one.
func (r redactCmd) write(in func() (io.ReadCloser, error), name string, damaged func(*record.LineError)) (sum record.Redaction, err error) {
	if info, err := os.Stat(name); err == nil {
		if from, err := os.Stat(r.File); err == nil && os.SameFile(info, from) {
			return sum, fmt.Errorf("%s is the capture itself; name another file with -o", name)
		}
		if !info.Mode().IsRegular() {
			return sum, fmt.Errorf("%s is no file; name one with -o, or - for standard output", name)
		}
		if !r.Force {
			return sum, fmt.Errorf("%s is there already; name another file with -o, or overwrite it with --force", name)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".acp-shim-redact-*")
	if err != nil {
		return sum, fmt.Errorf("writing %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	var out io.Writer = f
	end := func() error { return nil }
	if strings.HasSuffix(name, ".zst") {
		enc, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
		if err != nil {
			f.Close()
			return sum, err
		}
		out, end = enc, enc.Close
	}
	sum, err = record.RedactCapture(in, out, damaged)
	for _, step := range []func() error{end, f.Sync, f.Close} {
		if e := step(); err == nil && e != nil {
			err = fmt.Errorf("writing %s: %w", name, e)
		}
	}
	if err != nil {
		return sum, err
	}
	if r.Force {
		err = os.Rename(f.Name(), name)
	} else if err = os.Link(f.Name(), name); err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(f.Name(), name) // a file system without links
	}
	if err != nil {
		return sum, fmt.Errorf("writing %s: %w", name, err)
	}
	return sum, nil
}
