package state

import (
	"acp-shim/internal/lockfile"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// runMax is the largest file of a running shim that is read, in bytes, and
	// runsMax how many of them.
	runMax  = 1 << 20
	runsMax = 1000
	// runLasts is how long what a killed shim has left is kept, for somebody to
	// look at.
	runLasts = 24 * time.Hour
)

// Run is the file in which a running shim says how it is. Beside it lies a lock
// that the shim holds as long as it lives, since the file itself is replaced with
// every write.
type Run struct {
	path string
	lock *os.File
}

func (d *Dir) running() string { return filepath.Join(d.path, "running") }

// Begin makes a file for this process. Where nothing is kept it returns nil, which
// may be used like any other.
func (d *Dir) Begin() (*Run, error) {
	if d == nil || d.path == "" {
		return nil, nil
	}
	if err := os.MkdirAll(d.running(), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of running shims: %w", err)
	}
	name := strconv.Itoa(os.Getpid())
	// In another container there may be a process of the same number.
	for n := 2; n <= 9; n++ {
		path := filepath.Join(d.running(), name)
		f, owner, err := lockfile.Take(path + ".lock")
		if err != nil {
			return nil, fmt.Errorf("locking the file of this shim: %w", err)
		}
		if owner == "" {
			return &Run{path: path + ".json", lock: f}, nil
		}
		name = fmt.Sprintf("%d-%d", os.Getpid(), n)
	}
	return nil, errors.New("every name for the file of this shim is in use")
}

// Write replaces the file by v as JSON. It fails where the directory was removed and
// made again: what it would write has no lock, and nobody would look at it.
func (r *Run) Write(v any) error {
	if r == nil {
		return nil
	}
	held, err := r.lock.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(r.lock.Name()); err != nil || !os.SameFile(held, there) {
		return errors.New("the lock of this shim's file was removed")
	}
	return write(r.path, v)
}

// End removes the file: a shim that has ended is not running.
func (r *Run) End() {
	if r == nil {
		return
	}
	os.Remove(r.path)
	lockfile.Drop(r.lock)
}

// RunFile is a file that a shim has written, or has left behind.
type RunFile struct {
	Path string
	// Alive tells that the shim holds its lock, or that nobody can tell: who ends or
	// removes something must know. Untold says then why not.
	Alive  bool
	Untold error
	// Text is what it has written last, and At when. Text is empty where the shim
	// has written nothing yet, or the file cannot be read.
	Text []byte
	At   time.Time
}

// Runs are the files of all running shims, and of those that were killed. The one
// that was written to last comes first.
func (d *Dir) Runs() ([]RunFile, error) {
	if d == nil || d.path == "" {
		return nil, nil
	}
	files, err := os.ReadDir(d.running())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the directory of running shims: %w", err)
	}
	var runs []RunFile
	dead := 0
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".lock")
		// What is no file was not made by a shim; opening it might wait for ever.
		if !ok || !file.Type().IsRegular() {
			continue
		}
		r := RunFile{Path: filepath.Join(d.running(), name+".json")}
		owner, err := ownerOf(r.lock())
		r.Alive, r.Untold = owner != "" || err != nil, err
		if !r.Alive {
			if dead++; dead > runsMax {
				continue // there are enough of those
			}
		}
		if info, err := file.Info(); err == nil {
			r.At = info.ModTime()
		}
		r.Text, r.At = readRun(r.Path, r.At)
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b RunFile) int { return b.At.Compare(a.At) })
	return runs, nil
}

// ownerOf is a variable for tests, which have no file system without locks.
var ownerOf = lockfile.Owner

func readRun(path string, otherwise time.Time) ([]byte, time.Time) {
	// Before it is opened: that of a FIFO would wait for a writer.
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, otherwise
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, otherwise
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, runMax+1))
	if err != nil || len(b) > runMax {
		return nil, info.ModTime()
	}
	return b, info.ModTime()
}

func (r RunFile) lock() string { return strings.TrimSuffix(r.Path, ".json") + ".lock" }

// Remove removes what a killed shim has left. That of a running one is an error.
func (r RunFile) Remove() error {
	f, owner, err := lockfile.Take(r.lock())
	if err != nil {
		return fmt.Errorf("locking the file of a shim that was killed: %w", err)
	}
	if owner != "" {
		return fmt.Errorf("the shim that %s belongs to is running (%s)", r.Path, owner)
	}
	defer lockfile.Drop(f)
	if err := os.Remove(r.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the file of a shim that was killed: %w", err)
	}
	return nil
}

// PruneRuns removes what shims have left that were killed long ago: also in the middle
// of a write, or after their lock was removed.
func (d *Dir) PruneRuns() {
	runs, _ := d.Runs()
	for _, r := range runs {
		if !r.Alive && time.Since(r.At) > runLasts {
			r.Remove()
		}
	}
	if d.Path() == "" {
		return
	}
	files, _ := os.ReadDir(d.running())
	for _, file := range files {
		path := filepath.Join(d.running(), file.Name())
		info, err := file.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) <= runLasts {
			continue
		}
		name, isRun := strings.CutSuffix(path, ".json")
		if isRun {
			_, err = os.Lstat(name + ".lock")
			isRun = errors.Is(err, fs.ErrNotExist)
		}
		if isRun || strings.HasPrefix(file.Name(), newFile) {
			os.Remove(path)
		}
	}
}
