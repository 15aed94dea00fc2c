package state

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
)

// Book writes a line into the books. Shims that do so at the same time do not mix
// their lines: each is one write to the file's end.
func (d *Dir) Book(u Used) error {
	if d == nil || d.path == "" {
		return nil
	}
	b, err := json.Marshal(u)
	if err != nil {
		return err
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
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
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
		if _, err := time.Parse("2006-01", month); ok && err == nil {
			list = append(list, e.Name())
		}
	}
	slices.Sort(list)
	return list
}

// Books calls f for each line that is there, the oldest first. A line that cannot
// be read is passed over: a crash may have cut it.
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
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var u Used
			if json.Unmarshal(lines.Bytes(), &u) == nil && !u.At.IsZero() {
				f(u)
			}
		}
		err = lines.Err()
		file.Close()
		if err != nil {
			return fmt.Errorf("reading %s: %w", file.Name(), err)
		}
	}
	return nil
}
