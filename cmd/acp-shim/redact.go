package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"acp-shim/internal/show"
	"acp-shim/record"
)

// redactCmd makes captures that can be shown to others of some that were recorded
// raw, or by a version that knew less.
type redactCmd struct {
	Files  []string `arg:"" name:"file" help:"The capture; - reads standard input. Of several, the parts of one run, each is cleaned of the secrets of all."`
	Output string   `short:"o" placeholder:"FILE" help:"Where to write the only one; - is standard output. A name that ends in .zst is compressed. Without it, FILE with .redacted before its extension."`
	Force  bool     `help:"Overwrite the output file."`
}

func (r redactCmd) Run() error {
	if len(r.Files) > 1 && (r.Output != "" || slices.Contains(r.Files, "-")) {
		return failed(errors.New("-o and - are for a single capture; what comes of several is written beside each"))
	}
	redactor := record.NewRedactor()
	in := make([]func() (io.ReadCloser, error), len(r.Files))
	for i, name := range r.Files {
		open, done, err := rereadable(name)
		if err != nil {
			return failed(err)
		}
		defer done()
		if err := redactor.Learn(open); err != nil {
			return failed(err)
		}
		in[i] = open
	}
	if redactor.Missing() || r.partMissing() {
		fmt.Fprintln(os.Stderr, "acp-shim: this is a part of a run; secrets that are named in other parts of it are not known unless these are given as well")
	}
	var failure error
	for i, name := range r.Files {
		if err := r.one(redactor, name, in[i]); err != nil {
			failure = failed(err)
		}
	}
	return failure
}

// partMissing reports whether parts lie beside the files that are not among them.
func (r redactCmd) partMissing() bool {
	var given []os.FileInfo
	for _, name := range r.Files {
		if info, err := os.Stat(name); err == nil {
			given = append(given, info)
		}
	}
	for _, name := range r.Files {
		if name == "-" {
			continue
		}
		parts, err := record.Parts(name)
		if err != nil {
			continue // compressed since
		}
		for _, p := range parts {
			info, err := os.Stat(p)
			if err == nil && !slices.ContainsFunc(given, func(g os.FileInfo) bool { return os.SameFile(g, info) }) {
				return true
			}
		}
	}
	return false
}

// one writes what comes of one capture.
func (r redactCmd) one(redactor *record.Redactor, name string, in func() (io.ReadCloser, error)) (err error) {
	out := r.Output
	if out == "" {
		out = redactedName(name)
	}
	redact := func(w io.Writer) (record.Redaction, error) {
		return redactor.Redact(in, w, func(err *record.LineError) {
			fmt.Fprintln(os.Stderr, "acp-shim:", shown(err.Error())+"; the line is left out")
		})
	}
	report := io.Writer(stdout)
	var sum record.Redaction
	if out == "-" {
		report = os.Stderr
		sum, err = redact(stdout)
	} else {
		sum, err = r.write(name, out, redact)
	}
	if err != nil {
		return err
	}
	were := "were"
	if sum.Hunted == 1 {
		were = "was"
	}
	fmt.Fprintf(report, "%s: %s, %s; %s %s hunted for in all of it\n", shown(out), show.Count(int(sum.Frames), "frame"), show.Count(int(sum.Events), "event"), show.Count(int(sum.Hunted), "secret"), were)
	if sum.Unhunted > 0 {
		return fmt.Errorf("%d more secrets were replaced where they stood as such, but not looked for elsewhere; redact the capture in pieces", sum.Unhunted)
	}
	if sum.Damaged > 0 {
		return fmt.Errorf("%d lines could not be read and are left out", sum.Damaged)
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
		return func() (io.ReadCloser, error) { return openWatched(name) }, func() {}, nil
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
	return func() (io.ReadCloser, error) { return openWatched(f.Name()) }, done, nil
}

// write makes the output file in one step: there is never half of one.
func (r redactCmd) write(from, name string, redact func(io.Writer) (record.Redaction, error)) (sum record.Redaction, err error) {
	if info, err := os.Stat(name); err == nil {
		if capture, err := os.Stat(from); err == nil && os.SameFile(info, capture) {
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
	sum, err = redact(out)
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
	} else {
		err = placeNew(f.Name(), name)
	}
	if err != nil {
		return sum, fmt.Errorf("writing %s: %w", name, err)
	}
	return sum, nil
}
