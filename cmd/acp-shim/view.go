package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"acp-shim/internal/show"
	"acp-shim/internal/view"
)

// viewCmd makes a page of a capture.
type viewCmd struct {
	File      []string `arg:"" help:"A capture, or the files of one run in their order; - is standard input."`
	Output    string   `short:"o" placeholder:"PAGE.html" help:"Where the page is written; - is standard output. Without it, the capture's name with .html, in this directory."`
	NoOpen    bool     `help:"Do not open the page."`
	FromSeq   uint64   `placeholder:"N" help:"Begin at this seq."`
	ToSeq     uint64   `placeholder:"N" help:"End at this seq."`
	MaxFrames int      `default:"200000" placeholder:"N" help:"Show at most that many frames and events (${default}); the page tells where it ends."`
}

func (c viewCmd) Run() error {
	if c.MaxFrames < 1 {
		return errors.New("--max-frames must be at least 1")
	}
	if c.ToSeq > 0 && c.ToSeq < c.FromSeq {
		return errors.New("--to-seq is below --from-seq: there is no line between them")
	}
	p, err := view.New(view.Window{From: c.FromSeq, To: c.ToSeq, Max: c.MaxFrames})
	if err != nil {
		return err
	}
	defer p.Close()
	p.Title = title(c.File)
	d := &damage{}
	err = records(captures(c.File, true), d, p.Add)
	if errors.Is(err, view.ErrFull) {
		d.end()
	} else if err != nil {
		return failed(err)
	}
	p.Damaged(d.lines)
	path, size, err := c.write(p)
	if err != nil {
		return err
	}
	if path == "" {
		return nil
	}
	if p.Rows() == 0 {
		complain(errors.New("no line of the capture is in the page; see --from-seq and --to-seq"))
	}
	more := ""
	if p.Full() {
		more = ", and the capture goes on: see --max-frames"
	}
	fmt.Fprintf(stdout, "%s has %s, %s%s\n", shown(path), show.Count(p.Rows(), "line"), show.Bytes(size), more)
	if c.NoOpen {
		return nil
	}
	if err := openPage(path); err != nil {
		complain(fmt.Errorf("%w; open the page in a browser", err))
	}
	return nil
}

// title names a page by its captures.
func title(files []string) string {
	if files[0] == fromStdin {
		return "standard input"
	}
	name := filepath.Base(files[0])
	if len(files) > 1 {
		name += fmt.Sprintf(" and %d more", len(files)-1)
	}
	return name
}

// pageName is where the page of a capture is written if nobody says otherwise.
func pageName(file string) string {
	if file == fromStdin {
		return "capture.html"
	}
	name := strings.TrimSuffix(filepath.Base(file), ".zst")
	return strings.TrimSuffix(name, filepath.Ext(name)) + ".html"
}

// write writes the page, whole or not at all. It has what client and agent said, so
// that it is for the user's eyes only.
func (c viewCmd) write(p *view.Page) (path string, size int64, err error) {
	path = c.Output
	switch path {
	case fromStdin:
		size, err = p.WriteTo(stdout)
		return "", size, err
	case "":
		path = pageName(c.File[0])
		if err := isOurs(path); err != nil {
			return "", 0, err
		}
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("%s is no file that a page could be written to; choose another with --output", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".acp-shim-view-*")
	if err != nil {
		return "", 0, fmt.Errorf("writing the page: %w; choose another place with --output", err)
	}
	defer os.Remove(f.Name())
	size, err = p.WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return "", 0, fmt.Errorf("putting the page in its place: %w", err)
	}
	return path, size, nil
}

// isOurs refuses a file that is no page of ours: nobody has asked for it to be
// overwritten.
func isOurs(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking whether the page is there already: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(view.Marker))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte(view.Marker)) {
		return fmt.Errorf("%s is there and is no page of a capture; say with --output where the page is to be written", path)
	}
	return nil
}
