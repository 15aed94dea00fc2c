package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"
)

// writeOut calls write with where its output goes: a file, which is there whole or
// not at all, or the standard output, where a terminal gets none of the control
// characters that may be in it.
func writeOut(name string, force bool, write func(w io.Writer) error) error {
	if name == "" || name == "-" {
		b := bufio.NewWriterSize(stdout, 64<<10)
		var out io.Writer = b
		if term.IsTerminal(int(stdout.Fd())) {
			out = harmless{b}
		}
		err := write(out)
		if e := b.Flush(); err == nil && e != nil {
			err = fmt.Errorf("writing: %w", e)
		}
		return err
	}
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file; name one with -o, or - for standard output", name)
		}
		if !force {
			return fmt.Errorf("%s is there already; name another file with -o, or overwrite it with --force", name)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".acp-shim-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	b := bufio.NewWriterSize(f, 256<<10)
	err = write(b)
	for _, step := range []func() error{b.Flush, f.Close} {
		if e := step(); err == nil && e != nil {
			err = fmt.Errorf("writing %s: %w", name, e)
		}
	}
	if err != nil {
		return err
	}
	if force {
		err = os.Rename(f.Name(), name)
	} else if err = os.Link(f.Name(), name); err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(f.Name(), name) // a file system without links
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// harmless passes text on without what a terminal would obey.
type harmless struct{ w io.Writer }

func (h harmless) Write(p []byte) (int, error) {
	if _, err := h.w.Write(escaped(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
