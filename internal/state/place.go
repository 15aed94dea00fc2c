package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"acp-shim/internal/lockfile"
	"acp-shim/proxy"
)

// Place is the directory of the sessions of one agent and one home.
type Place struct {
	// Agent and Home are what Dir.Sessions was given; both are empty where the
	// directory does not say.
	Agent, Home string
	dir         string
}

// aboutFile holds the names that a place's directory is the hash of.
const aboutFile = "about.json"

type about struct {
	Agent string `json:"agent"`
	Home  string `json:"home"`
}

// kept is a record as it is stored.
type kept struct {
	proxy.Record
	Used time.Time `json:"used"`
}

// Place is where the sessions of an agent and a home are kept, whether there are
// any or not.
func (d *Dir) Place(agent, home string) Place {
	if d == nil || d.path == "" {
		return Place{Agent: agent, Home: home}
	}
	return Place{Agent: agent, Home: home, dir: filepath.Join(d.path, "sessions", short(agent+"\x00"+home))}
}

// Places are all that are there.
func (d *Dir) Places() ([]Place, error) {
	if d == nil || d.path == "" {
		return nil, nil
	}
	dirs, err := os.ReadDir(filepath.Join(d.path, "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the state directory: %w", err)
	}
	var places []Place
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		p := Place{dir: filepath.Join(d.path, "sessions", dir.Name())}
		var a about
		if read(filepath.Join(p.dir, aboutFile), &a) {
			p.Agent, p.Home = a.Agent, a.Home
		}
		places = append(places, p)
	}
	return places, nil
}

// Same tells that two are the same place.
func (p Place) Same(q Place) bool { return p.dir == q.dir }

// make makes the place's directory and has it say what it belongs to. Where only
// the latter fails nothing but a listing misses it.
func (p Place) make() error {
	if p.dir == "" {
		return errors.New("there is no state directory")
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of sessions: %w", err)
	}
	path, want := filepath.Join(p.dir, aboutFile), about{p.Agent, p.Home}
	var have about
	if p.Agent != "" && (!read(path, &have) || have != want) {
		write(path, want)
	}
	return nil
}

func (p Place) lockPath(id string) string   { return filepath.Join(p.dir, short(id)+".lock") }
func (p Place) recordPath(id string) string { return filepath.Join(p.dir, short(id)+".json") }

func (p Place) record(id string) (k kept, ok bool) {
	ok = read(p.recordPath(id), &k) && k.ID == id
	k.Config = slices.DeleteFunc(k.Config, func(s proxy.Setting) bool {
		// A damaged one would not be understood by the agent.
		return s.Key == "" || s.Method == "" || !json.Valid([]byte(s.Params))
	})
	return k, ok
}

// InUse is the error that a shim has a session.
type InUse struct {
	ID, Owner string
}

func (e *InUse) Error() string {
	return fmt.Sprintf("session %s is in use by an acp-shim (%s)", e.ID, e.Owner)
}

// Own makes this process the owner of a session until release is called. Other
// than Sessions.Claim it fails where nothing can be locked.
func (p Place) Own(id string) (release func(), err error) {
	if err := p.make(); err != nil {
		return nil, err
	}
	f, owner, err := lockfile.Take(p.lockPath(id))
	if owner != "" {
		return nil, &InUse{id, owner}
	}
	if err != nil {
		return nil, fmt.Errorf("locking session %s: %w", id, err)
	}
	return func() { lockfile.Drop(f) }, nil
}

// Forget removes what is remembered of a session, unless it is in use.
func (p Place) Forget(id string) error {
	release, err := p.Own(id)
	if err != nil {
		return err
	}
	defer release()
	err = os.Remove(p.recordPath(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the record of session %s: %w", id, err)
	}
	return nil
}
