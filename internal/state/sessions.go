package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	return &Sessions{dir: dir, held: map[string]*os.File{}, remember: remember}, nil
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
		f, err := os.OpenFile(base+".lock", os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			owner := make([]byte, 64)
			if n, lockErr := f.ReadAt(owner, 0); !lock(f) {
				f.Close()
				_ = lockErr
				return nil, fmt.Errorf("session %s is in use by another acp-shim (%s): two processes that write one conversation would damage it; close it there, or start a new session here", id, string(owner[:n]))
			}
			f.Truncate(0)
			f.WriteAt(fmt.Appendf(nil, "pid %d", os.Getpid()), 0)
			s.held[id] = f
		}
		// A directory that cannot be written locks nothing and stops nobody.
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
		f.Truncate(0)
		f.Close()
	}
}
