package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"acp-shim/internal/textfile"
	"acp-shim/usage"
)

// Used is one line of the books: what one turn has used.
type Used struct {
	At      time.Time `json:"at,omitzero"`
	Session string    `json:"session"`
	Model   string    `json:"model,omitempty"`
	// Build is the agent's name and version.
	Build string `json:"build,omitempty"`
	usage.Tokens
	// Context and Window are how full the context was after the turn, and how
	// large it is; Cost is the session's so far, in Currency.
	Context  int64   `json:"context,omitempty"`
	Window   int64   `json:"window,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

const (
	usedDir = "usage"
	// usedMonths is how many months of the books are kept.
	usedMonths = 24
	// maxUsed bounds the books of a month, a few hundred thousand turns.
	maxUsed = 64 << 20
	// maxLine bounds a line. Names in it are the agent's, and may be of any length.
	maxLine = 16 << 10
	maxName = 1 << 10
	// maxCount is more than any turn uses.
	maxCount = 1 << 53
)

// sound tells a line whose figures can be: none is below zero, or so large that it
// would spoil the sums.
func (u *Used) sound() bool {
	for _, n := range []int64{u.Input, u.Output, u.Thought, u.Cached, u.CacheWrite, u.Total, u.Context, u.Window} {
		if n < 0 || n > maxCount {
			return false
		}
	}
	return u.Cost >= 0 && u.Cost <= maxCount
}

// Book writes a line into the books. Shims that do so at the same time do not mix
// their lines: each is one write to the file's end.
func (d *Dir) Book(u Used) error {
	if d == nil || d.path == "" {
		return nil
	}
	for _, name := range []*string{&u.Session, &u.Model, &u.Build, &u.Currency} {
		*name = (*name)[:min(len(*name), maxName)]
	}
	b, err := json.Marshal(u)
	if err != nil {
		return err
	}
	if len(b) >= maxLine || !u.sound() {
		return errors.New("a turn whose usage nobody could read again is not kept in the books")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := filepath.Join(d.path, usedDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of usage: %w", err)
	}
	path := filepath.Join(dir, u.At.UTC().Format("2006-01")+".jsonl")
	info, err := os.Stat(path)
	if err != nil {
		d.oldBooks(dir)
	} else if info.Size() > maxUsed {
		return fmt.Errorf("the books of usage %s are full", path)
	}
	f, err := textfile.OpenOwn(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("opening the books of usage: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// oldBooks removes those of months long past.
func (d *Dir) oldBooks(dir string) {
	list := books(dir)
	for _, name := range list[:max(0, len(list)-usedMonths)] {
		os.Remove(filepath.Join(dir, name))
	}
}

// books are the names of the months' files, the oldest first.
func books(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		month, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if _, err := time.Parse("2006-01", month); ok && err == nil && e.Type().IsRegular() {
			list = append(list, e.Name())
		}
	}
	slices.Sort(list)
	return list
}

// Books calls f for each line that is there, the oldest first. A line that cannot
// be read, or says what cannot be, is passed over: a crash may have cut it.
func (d *Dir) Books(f func(Used)) error {
	if d == nil || d.path == "" {
		return nil
	}
	dir := filepath.Join(d.path, usedDir)
	for _, name := range books(dir) {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("reading the books of usage: %w", err)
		}
		lines, whole := bufio.NewReaderSize(file, maxLine), true
		for err == nil {
			var line []byte
			line, err = lines.ReadSlice('\n')
			var u Used
			if whole && err != bufio.ErrBufferFull && json.Unmarshal(line, &u) == nil && !u.At.IsZero() && u.sound() {
				f(u)
			}
			if whole = err != bufio.ErrBufferFull; !whole {
				err = nil
			}
		}
		file.Close()
		if err != io.EOF {
			return fmt.Errorf("reading %s: %w", file.Name(), err)
		}
	}
	return nil
}
