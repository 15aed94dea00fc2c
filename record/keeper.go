package record

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// keeper sees to the files that are not written any more: it compresses them, and
// removes the oldest. It works in goroutines of its own, one at a time, which the
// flusher never waits for before it has written all; and what it has not done by
// the end of the run, the next one in the same place does.
//
// A file is compressed or removed only under its lock, by which writers tell
// each other that they are there.
type keeper struct {
	shelf *shelf
	opt   Options

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex // one at a time
	// blind is done once the directory cannot be read.
	blind sync.Once
}

func newKeeper(s *shelf, opt Options) *keeper {
	k := &keeper{shelf: s, opt: opt}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

// start looks after what earlier runs have left.
func (k *keeper) start() {
	if canLock && (k.opt.Compress || k.opt.KeepSize > 0 || k.opt.KeepAge > 0) {
		k.wg.Go(func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.tidy()
		})
	}
}

// take takes over a file that is full.
func (k *keeper) take(f file, path string, part int) {
	k.wg.Go(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if err := f.Sync(); err != nil {
			k.warn(fmt.Errorf("the capture %s may not be on the disk: %w", path, err))
		}
		// It keeps its lock until it is seen to.
		defer f.Close()
		if part == 1 && k.shelf.named {
			// The next run begins a new one of that name.
			if to := k.shelf.part(1); rename(path, to) == nil {
				path = to
			}
		}
		if o, ok := f.(osFile); ok && canLock && k.opt.Compress && k.ctx.Err() == nil {
			if info, err := o.Stat(); err == nil {
				if err := k.compress(o.File, info, path); err != nil && k.ctx.Err() == nil {
					k.warn(fmt.Errorf("the capture %s stays as it is: %w", path, err))
				}
			}
		}
		if canLock && (k.opt.KeepSize > 0 || k.opt.KeepAge > 0) {
			k.retain()
		}
	})
}

func (k *keeper) warn(err error) {
	if k.opt.Warn != nil {
		k.opt.Warn(err)
	}
}

// end stops the work and waits until nothing is half done.
func (k *keeper) end() {
	k.stop()
	k.wg.Wait()
}

// left is a file that a writer may have left.
type left struct {
	name string
	size int64
	time time.Time
}

// list are the files on the shelf, the oldest first. One that is empty may be
// about to be locked.
func (k *keeper) list() (files []left) {
	entries, err := os.ReadDir(k.shelf.dir)
	if err != nil {
		k.blind.Do(func() { k.warn(fmt.Errorf("older captures are left as they are: %w", err)) })
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !k.shelf.ours(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Size() > 0 {
			files = append(files, left{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b left) int { return a.time.Compare(b.time) })
	return files
}

func (k *keeper) tidy() {
	k.retain()
	if !k.opt.Compress {
		return
	}
	for _, l := range k.list() {
		if k.ctx.Err() != nil {
			return
		}
		if strings.HasSuffix(l.name, compressed) {
			continue
		}
		f, info, err := k.shelf.claim(l.name)
		if err != nil {
			continue
		}
		if err := k.compress(f, info, filepath.Join(k.shelf.dir, l.name)); err != nil && k.ctx.Err() == nil {
			k.warn(fmt.Errorf("the capture %s stays as it is: %w", l.name, err))
			f.Close()
			return // a disk that is full, as a rule
		}
		f.Close()
	}
	k.retain() // by what they take now
}

// retain removes what is too old, and the oldest of what is too much.
func (k *keeper) retain() {
	files := k.list()
	total := int64(0)
	for _, l := range files {
		total += l.size
	}
	for _, l := range files {
		old := k.opt.KeepAge > 0 && time.Since(l.time) > k.opt.KeepAge
		much := k.opt.KeepSize > 0 && total > k.opt.KeepSize
		if !old && !much || k.ctx.Err() != nil {
			return
		}
		f, _, err := k.shelf.claim(l.name)
		if err != nil {
			continue
		}
		if os.Remove(filepath.Join(k.shelf.dir, l.name)) == nil {
			total -= l.size
		}
		f.Close()
	}
}

// compress puts a compressed file in the place of one that is claimed.
func (k *keeper) compress(f *os.File, info os.FileInfo, path string) error {
	// Whoever has the file locked is the only one to write here. What is there already
	// was left by one that was killed, or is not ours: neither is opened.
	tmp := path + compressed + ".tmp"
	os.Remove(tmp)
	out, err := openFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("compressing it: %w", err)
	}
	err = k.encode(out, io.NewSectionReader(f, 0, info.Size()))
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chtimes(tmp, info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = os.Rename(tmp, path+compressed)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("compressing it: %w", err)
	}
	return os.Remove(path)
}

func (k *keeper) encode(out io.Writer, in io.Reader) error {
	enc, err := newEncoder(out)
	if err != nil {
		return err
	}
	for err == nil {
		if k.ctx.Err() != nil {
			enc.Close()
			return k.ctx.Err()
		}
		_, err = io.CopyN(enc, in, 256<<10)
	}
	closed := enc.Close()
	if err != io.EOF {
		return err
	}
	return closed
}

// rename gives a file another name, unless that is taken.
func rename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return os.ErrExist
	}
	return os.Rename(from, to)
}
