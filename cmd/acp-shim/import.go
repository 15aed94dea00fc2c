package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"acp-shim/internal/exchange"
	"acp-shim/record"
)

// importCmd makes a capture of a recording that something else has made.
type importCmd struct {
	File   string `arg:"" help:"JSON-RPC messages, one a line, as they are or labelled with whose they are and when; or an export of acp-devtools. - is standard input."`
	Output string `short:"o" placeholder:"FILE" help:"Where to write; - is standard output. Without it, NAME.capture.jsonl in this directory."`
	From   string `enum:"auto,client,agent" default:"auto" help:"Who sent the lines that do not say it: ${enum}. With auto, methods tell, and responses belong to their requests."`
	Raw    bool   `help:"Keep what looks like a secret."`
	Force  bool   `help:"Overwrite the output file."`
}

func (c importCmd) Run() error {
	in, start := os.Stdin, time.Now()
	name := "standard input"
	if c.File != fromStdin {
		f, err := os.Open(c.File)
		if err != nil {
			return failed(fmt.Errorf("opening the recording: %w", err))
		}
		defer f.Close()
		in, name = f, filepath.Base(c.File)
		if info, err := f.Stat(); err == nil {
			start = info.ModTime()
		}
	}
	out := c.Output
	if out == "" {
		out = importedName(c.File)
	}
	var d damage
	d.first()
	im := exchange.Import{Name: name, Version: version(), Start: start, Infer: c.From == "auto",
		Damaged: func(err *record.LineError) { d.tell(fmt.Errorf("%s: %w", name, err)) }}
	if c.From == "agent" {
		im.From = exchange.Agent
	}
	var done exchange.Imported
	err := writeOut(out, c.Force, func(w io.Writer) (err error) {
		if c.Raw {
			done, err = im.Run(in, w)
			return err
		}
		done, err = importClean(im, in, w)
		return err
	})
	if err != nil {
		return failed(err)
	}
	d.end()
	report := io.Writer(stdout)
	if out == "-" {
		report = os.Stderr
	}
	fmt.Fprintf(report, "%s: %s of %s, %d from the client and %d from the agent\n", shown(out),
		counted(done.Frames, "frame"), done.Format, done.Sides[exchange.Client], done.Sides[exchange.Agent])
	if done.Damaged > 0 {
		return failed(fmt.Errorf("%s hold no message and are left out", counted(done.Damaged, "line")))
	}
	return nil
}

// importedName is where an import goes unless told otherwise.
func importedName(name string) string {
	if name == fromStdin {
		return fromStdin
	}
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".capture.jsonl"
}

// importClean imports without secrets. They are looked for everywhere, which takes
// two passes; so the raw capture is in a file until the second is done, which only
// its owner can read and, where the system allows it, nobody finds by a name.
func importClean(im exchange.Import, in io.Reader, out io.Writer) (exchange.Imported, error) {
	raw, err := os.CreateTemp("", "acp-shim-import-*")
	if err != nil {
		return exchange.Imported{}, fmt.Errorf("keeping the recording, which is read twice: %w", err)
	}
	if os.Remove(raw.Name()) != nil { // Windows keeps what is open
		defer os.Remove(raw.Name())
	}
	defer raw.Close()
	done, err := im.Run(in, raw)
	if err != nil {
		return done, err
	}
	var broken error
	again := func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(raw, 0, math.MaxInt64)), nil
	}
	sum, err := record.RedactCapture(again, out, func(err *record.LineError) { broken = err })
	switch {
	case err != nil:
		return done, err
	case broken != nil:
		return done, fmt.Errorf("the import cannot be read back: %w", broken)
	case sum.Unhunted > 0:
		return done, errors.New("there are too many secrets in it to look for each everywhere; import it in pieces")
	}
	return done, nil
}
