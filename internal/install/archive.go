package install

import (
	"acp-shim/internal/textfile"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// archive is one that is here in full. It is read through the file that was
// opened once: what was hashed is what is unpacked.
type archive struct {
	file *os.File
	size int64
	// what names it in an error.
	what string
	etag string
}

func (a *archive) reader() io.Reader { return io.NewSectionReader(a.file, 0, a.size) }

// fault says what is wrong with an archive, or with the disk.
func (a *archive) fault(ctx context.Context, did string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &spaceError{err}
	}
	return fmt.Errorf("%s %s: %w", a.what, did, err)
}

// spaceError is not the archive's fault: it is kept for another try.
type spaceError struct{ error }

func (e *spaceError) Unwrap() error { return e.error }

// obtain opens a local archive or brings one here. What close returns says what
// is kept of it.
func (in *Installer) obtain(ctx context.Context, t *target) (a *archive, close func(done bool) string, err error) {
	if t.address == nil {
		if st, err := os.Stat(t.file); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return nil, nil, fmt.Errorf("the archive %s is no file", t.file) // to open a pipe would wait
		}
		f, err := os.Open(t.file)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the archive %s: %w", t.file, textfile.Reason(err))
		}
		a, err := in.opened(f, t.file)
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		return a, func(bool) string { f.Close(); return "" }, nil
	}
	p, err := in.newPart(t.build, t.address, t.sha256 != "")
	if err != nil {
		return nil, nil, err
	}
	if err := p.fetch(ctx); err != nil {
		kept := ""
		if errors.Is(err, errTooLarge) {
			p.discard()
		} else {
			kept = p.settle()
		}
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("%w%s", ctx.Err(), kept)
		}
		return nil, nil, fmt.Errorf("downloading %s: %w%s", t.source.URL, err, kept)
	}
	f, err := os.Open(p.path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", p.path, textfile.Reason(err))
	}
	if a, err = in.opened(f, t.source.URL); err != nil {
		f.Close()
		p.discard()
		return nil, nil, err
	}
	a.etag = p.etag
	closed := false
	return a, func(done bool) string {
		f.Close()
		switch {
		case closed:
			return ""
		case done:
			closed = true
			p.discard()
			return ""
		}
		closed = true
		return p.settle()
	}, nil
}

func (in *Installer) opened(f *os.File, what string) (*archive, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the archive %s: %w", what, textfile.Reason(err))
	}
	switch {
	case st.IsDir():
		return nil, fmt.Errorf("the archive %s is a directory", what)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("the archive %s is no file", what)
	case st.Size() > in.max:
		return nil, fmt.Errorf("the archive %s is too large: %s, more than %s", what, Bytes(st.Size()), Bytes(in.max))
	}
	return &archive{file: f, size: st.Size(), what: what}, nil
}

// madeRoot are the directories that were made for a root.
type madeRoot []string

// makeRoot makes a root's directory.
func makeRoot(dir string) (madeRoot, error) {
	var made madeRoot
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		made.undo()
		return nil, fmt.Errorf("making %s: %w; name another directory with --root", dir, textfile.Reason(err))
	}
	return made, nil
}

// undo removes those that are empty still.
func (m madeRoot) undo() {
	for _, d := range m {
		if strings.Trim(d, string(filepath.Separator)) == "" || os.Remove(d) != nil {
			return
		}
	}
}
