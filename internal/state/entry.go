package state

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/proxy"
)

// Entry is what is known of one session.
type Entry struct {
	Place
	// ID is the client's name for it, Real the agent's, which is the same unless
	// the session had to be made anew.
	ID, Real string
	Cwd      string
	// Called is what the agent calls itself, "" where that is not known.
	Called string
	// Model and Mode are what the client has set, "" if it has not; Options are
	// all else that it has set.
	Model, Mode string
	Options     []Option
	Used        time.Time
	// Owner says which process has it now, "" if none, or that this cannot be told.
	Owner string
}

// Option is a config option that a client has set, its value as JSON.
type Option struct {
	ID, Value string
}

// Entries are the sessions of a place, the one that was used last first.
func (p Place) Entries() []Entry {
	if p.dir == "" {
		return nil
	}
	files, _ := os.ReadDir(p.dir)
	var list []Entry
	for _, file := range files {
		path := filepath.Join(p.dir, file.Name())
		var k kept
		if filepath.Ext(path) != ".json" || file.Name() == aboutFile || !read(path, &k) || k.ID == "" {
			continue
		}
		e := Entry{Place: p, ID: k.ID, Real: cmp.Or(k.Real, k.ID), Cwd: k.Cwd, Called: k.Agent, Used: k.Used}
		owner, err := ownerOf(p.lockPath(k.ID))
		if e.Owner = owner; err != nil {
			e.Owner = "cannot be told"
		}
		if info, err := file.Info(); err == nil && e.Used.IsZero() {
			e.Used = info.ModTime().UTC()
		}
		for _, s := range k.Config {
			e.set(s)
		}
		list = append(list, e)
	}
	slices.SortFunc(list, Newest)
	return list
}

// Newest orders entries, the one that was used last first.
func Newest(a, b Entry) int {
	return cmp.Or(b.Used.Compare(a.Used), strings.Compare(a.ID, b.ID))
}

func (e *Entry) set(s proxy.Setting) {
	value := settingValue(s)
	switch s.Key {
	case "model":
		e.Model = value.String()
	case "mode":
		e.Mode = value.String()
	default:
		raw := value.Raw
		if raw == "" {
			raw = "null"
		}
		e.Options = append(e.Options, Option{s.Key, raw})
	}
}

// settingValue finds what was set in params that are kept as the client has sent
// them: clients use names that the agent does not know (see rewrite).
func settingValue(s proxy.Setting) gjson.Result {
	names := []string{"value"}
	switch s.Method {
	case "session/set_model":
		names = []string{"modelId", "model", "value"}
	case "session/set_mode":
		names = []string{"modeId", "mode", "value"}
	}
	for _, name := range names {
		if v := gjson.Get(s.Params, name); v.Exists() {
			return v
		}
	}
	return gjson.Result{}
}
