package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"acp-shim/internal/lockfile"
	"acp-shim/proxy"
)

// Sessions is what is known of the sessions of one agent and its home. It is a
// proxy.Store.
type Sessions struct {
	place Place
	mu    sync.Mutex
	held  map[string]*os.File
	// Unlocked is told why a session is not locked against other shims; may be nil.
	Unlocked func(error)
	// Remember tells whether what was set in a session is kept for later runs.
	remember bool
}

// Sessions opens the store of the agent that calls itself agent and keeps its
// conversations in home.
func (d *Dir) Sessions(agent, home string, remember bool) (*Sessions, error) {
	s := &Sessions{held: map[string]*os.File{}}
	if d == nil || d.path == "" {
		return s, nil
	}
	s.place, s.remember = d.Place(agent, home), remember
	if err := s.place.make(); err != nil {
		return nil, err
	}
	go s.place.prune()
	return s, nil
}

// rememberFor is how long a session that nobody uses is remembered.
const rememberFor = 90 * 24 * time.Hour

// prune removes the records of sessions that nobody has used for long, and what
// processes that were killed have left behind.
func (p Place) prune() {
	files, _ := os.ReadDir(p.dir)
	for _, file := range files {
		name := file.Name()
		info, err := file.Info()
		if err != nil || name == aboutFile {
			continue
		}
		age := time.Since(info.ModTime())
		switch filepath.Ext(name) {
		case ".json":
			if age > rememberFor {
				os.Remove(filepath.Join(p.dir, name))
			}
		case ".lock":
			if age > rememberFor {
				if f, _, _ := lockfile.Take(filepath.Join(p.dir, name)); f != nil {
					lockfile.Drop(f)
				}
			}
		default:
			if age > 24*time.Hour && strings.HasPrefix(name, newFile) {
				os.Remove(filepath.Join(p.dir, name))
			}
		}
	}
}

// Claim implements proxy.Store.
func (s *Sessions) Claim(id string) (*proxy.Record, error) {
	if s.place.dir == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[id] == nil {
		// A directory that cannot be written locks nothing, and stops nobody.
		f, owner, err := lockfile.Take(s.place.lockPath(id))
		if err != nil && s.Unlocked != nil {
			s.Unlocked(err)
		}
		if owner != "" {
			return nil, fmt.Errorf("session %s is in use by another acp-shim (%s): two processes that write one conversation would damage it; close it there, or start a new session here", id, owner)
		}
		if f != nil {
			s.held[id] = f
		}
	}
	k, ok := s.place.record(id)
	if !ok {
		return nil, nil
	}
	if !s.remember {
		k.Config = nil
	}
	return &k.Record, nil
}

// Save implements proxy.Store. It marks the session as used now.
func (s *Sessions) Save(r proxy.Record) error {
	if s.place.dir == "" || !s.remember && r.Real == "" {
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
	return write(s.place.recordPath(r.ID), kept{r, time.Now().UTC()})
}

// Forget implements proxy.Store.
func (s *Sessions) Forget(id string) {
	if s.place.dir != "" {
		os.Remove(s.place.recordPath(id)) // it may not be there
	}
}

// Names implements proxy.Store.
func (s *Sessions) Names() map[string]string {
	names := map[string]string{}
	records, _ := filepath.Glob(filepath.Join(s.place.dir, "*.json"))
	for _, path := range records {
		var k kept
		if read(path, &k) && k.Real != "" && k.Real != k.ID {
			names[k.Real] = k.ID
		}
	}
	return names
}

// Release implements proxy.Store.
func (s *Sessions) Release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.held[id]; f != nil {
		delete(s.held, id)
		lockfile.Drop(f)
	}
}
