package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"acp-shim/proxy"
)

// Sessions is what is known of the sessions of one agent and its home. It is a
// proxy.Store.
type Sessions struct {
	dir  string
	mu   sync.Mutex
	held map[string]*os.File
	// Remember tells whether what was set in a session is kept for later runs.
	remember bool
}

type kept struct {
	proxy.Record
	Used time.Time `json:"used"`
}

// Sessions opens the store of the agent that calls itself agent and keeps its
// conversations in home.
func (d *Dir) Sessions(agent, home string, remember bool) (*Sessions, error) {
	if d == nil || d.path == "" {
		return &Sessions{held: map[string]*os.File{}}, nil
	}
	dir := filepath.Join(d.path, "sessions", short(agent+"\x00"+home))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of sessions: %w", err)
	}
	s := &Sessions{dir: dir, held: map[string]*os.File{}, remember: remember}
	go s.prune()
	return s, nil
}

// rememberFor is how long a session that nobody uses is remembered.
const rememberFor = 90 * 24 * time.Hour

// prune removes the records of sessions that nobody has used for long.
func (s *Sessions) prune() {
	records, _ := filepath.Glob(filepath.Join(s.dir, "*.json"))
	for _, path := range records {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > rememberFor {
			os.Remove(path)
		}
	}
}

// Claim implements proxy.Store. The lock is the system's, on a file, so that it
// goes with the process that holds it, whichever way that ends.
func (s *Sessions) Claim(id string) (*proxy.Record, error) {
	if s.dir == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	base := filepath.Join(s.dir, short(id))
	if s.held[id] == nil {
		f, owner := take(base + ".lock")
		if owner != "" {
			return nil, fmt.Errorf("session %s is in use by another acp-shim (%s): two processes that write one conversation would damage it; close it there, or start a new session here", id, owner)
		}
		if f != nil {
			s.held[id] = f
		}
	}
	var k kept
	if !read(base+".json", &k) || k.ID != id {
		return nil, nil
	}
	if !s.remember {
		k.Config = nil
	}
	return &k.Record, nil
}

// take locks a file that has its owner's name in it. Both results are empty where
// the directory cannot be written: that locks nothing, and stops nobody.
func take(path string) (f *os.File, owner string) {
	for range 100 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, ""
		}
		if !lock(f) {
			text := make([]byte, 64)
			n, _ := f.ReadAt(text, 0)
			f.Close()
			return nil, "pid " + strings.TrimPrefix(string(text[:n]), "pid ")
		}
		// Its owner may have removed it between the opening and the lock.
		held, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, there) {
			f.Truncate(0)
			f.WriteAt(fmt.Appendf(nil, "pid %d", os.Getpid()), 0)
			return f, ""
		}
		f.Close()
	}
	return nil, ""
}

// Save implements proxy.Store.
func (s *Sessions) Save(r proxy.Record) error {
	if s.dir == "" || !s.remember && r.Real == "" {
		return nil
	}
	if !s.remember {
		r.Config = nil
	}
	for i := range r.Config {
		if !json.Valid([]byte(r.Config[i].Params)) {
			return fmt.Errorf("the params of %s are not JSON", r.Config[i].Method)
		}
	}
	return write(filepath.Join(s.dir, short(r.ID)+".json"), kept{r, time.Now().UTC()})
}

// Release implements proxy.Store.
func (s *Sessions) Release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.held[id]; f != nil {
		delete(s.held, id)
		os.Remove(f.Name()) // while it is locked; see take
		f.Close()
	}
}
