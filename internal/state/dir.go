// Package state keeps what the shim must know beyond one run: which session is
// whose, what was set in it, and what was learned about builds of an agent.
//
// It owns the state directory and the files in it, all of them private to the
// user and written whole or not at all. It must not know frames or processes.
// Without a directory (no home, a read-only home) everything works for this run
// and is forgotten after it.
package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"acp-shim/internal/textfile"
)

// Path is where the state directory belongs, by the environment; empty where
// there is no place for it.
func Path(getenv func(string) string) string {
	if p := getenv("ACP_SHIM_STATE_DIR"); p != "" {
		return p
	}
	if p := getenv("XDG_STATE_HOME"); filepath.IsAbs(p) {
		return filepath.Join(p, "acp-shim")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "acp-shim")
	}
	if local := getenv("LOCALAPPDATA"); local != "" {
		return filepath.Join(local, "acp-shim")
	}
	return ""
}

// Dir is the state directory. The zero Dir, and a nil one, keep nothing.
type Dir struct {
	path string
	mu   sync.Mutex
}

// Open opens the directory at path and makes it where it is missing.
func Open(path string) (*Dir, error) {
	if path == "" {
		return nil, errors.New("there is no home directory to keep state in")
	}
	if err := textfile.PrivateDir(path); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	return &Dir{path: path}, nil
}

// At is the directory at path, for one who only looks: it is not made.
func At(path string) *Dir { return &Dir{path: path} }

// Path is the directory's path, empty where nothing is kept.
func (d *Dir) Path() string {
	if d == nil {
		return ""
	}
	return d.path
}

// newFile begins the name of a file that is not whole yet.
const newFile = textfile.Unfinished

// write replaces a file whole, so that no reader and no crash ever sees half.
func write(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return textfile.Write(path, append(b, '\n'), 0o600)
}

// read fills v from a file. A missing or damaged one leaves it as it is: what
// was remembered is a convenience, never a reason to fail.
func read(path string, v any) bool {
	b, err := textfile.Read(path)
	return err == nil && json.Unmarshal(b, v) == nil
}

// short names a file after text of any kind and length.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// factsLast is how long what was learned about a build counts.
const factsLast = 7 * 24 * time.Hour

type fact struct {
	At    time.Time       `json:"at"`
	Value json.RawMessage `json:"value"`
}

// counts tells that a fact is neither old nor of a clock that was wrong: one that is
// yet to come would count for as long as that takes.
func (f fact) counts() bool {
	age := time.Since(f.At)
	return age < factsLast && age > -clockSkew
}

// clockSkew is how far two clocks that are right may be apart.
const clockSkew = 24 * time.Hour

// Facts is what is known under kind, by the names of builds, as JSON.
func (d *Dir) Facts(kind string) map[string]json.RawMessage {
	known := map[string]json.RawMessage{}
	if d == nil || d.path == "" {
		return known
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	facts := map[string]fact{}
	read(filepath.Join(d.path, kind+".json"), &facts)
	for key, f := range facts {
		if f.counts() {
			known[key] = f.Value
		}
	}
	return known
}

// Learn keeps v under kind for the build named key.
func (d *Dir) Learn(kind, key string, v any) error {
	if d == nil || d.path == "" {
		return nil
	}
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	facts := map[string]fact{}
	path := filepath.Join(d.path, kind+".json")
	// What cannot be read for now would be gone for good.
	if b, err := textfile.Read(path); err == nil {
		if json.Unmarshal(b, &facts) != nil {
			facts = map[string]fact{}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for k, f := range facts {
		if !f.counts() {
			delete(facts, k)
		}
	}
	facts[key] = fact{time.Now().UTC(), value}
	return write(path, facts)
}
