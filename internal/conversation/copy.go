package conversation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// newCopy makes an empty file for a copy beside the database, by no name that the
// agent takes for a conversation: those end in .db. It is private from the
// beginning, and nothing is written over.
func newCopy(f File, now time.Time) (*os.File, error) {
	for n := 1; ; n++ {
		path := copyName(f, now)
		if n > 1 {
			path += fmt.Sprintf("-%d", n)
		}
		out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if !errors.Is(err, fs.ErrExist) || n == 100 {
			return out, err
		}
	}
}

func copyName(f File, now time.Time) string {
	return f.Path + ".before-repair-" + now.UTC().Format("20060102T150405Z")
}

// makeCopy has the connection write all that its database holds into a new file.
// A plain copy of the file would lack what is still in the log beside it (seed).
func (c *connection) makeCopy(of File) (path string, err error) {
	f, err := newCopy(of, time.Now())
	if err != nil {
		return "", err
	}
	path = f.Name()
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			os.Remove(path)
		}
	}()
	// It takes an empty file for one that is not there.
	if err := c.run("VACUUM INTO " + text(path)); err != nil {
		return path, err
	}
	// The copy must outlast a loss of power that the mend does not.
	if err := f.Sync(); err != nil {
		return path, err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		dir.Sync() // not to be had on every system
		dir.Close()
	}
	return path, nil
}

// inspect opens a copy by itself and returns what it holds, and what the
// original should hold once it is mended.
func inspect(ctx context.Context, p Program, path string) (have, mended content, err error) {
	c, err := p.connect(ctx, path, "-readonly")
	if err != nil {
		return nil, nil, err
	}
	defer c.close()
	if err := c.sound(); err != nil {
		return nil, nil, err
	}
	if have, err = c.read(false); err != nil {
		return nil, nil, err
	}
	mended, err = c.read(true)
	return have, mended, err
}

// scratch copies the files of a database elsewhere as they are, for a look that
// changes nothing: even to read it SQLite would put the log into the database.
// The index of the log is left out: a stale one hides what is in the log (seed).
func scratch(f File) (File, func(), error) {
	dir, err := os.MkdirTemp("", "acp-shim-conversation-")
	if err != nil {
		return File{}, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	s := File{Path: filepath.Join(dir, "conversation.db"), ID: f.ID}
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := copyFile(s.Path+suffix, f.Path+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			remove()
			return File{}, nil, err
		}
	}
	return s, remove, nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}
