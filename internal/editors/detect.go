package editors

import (
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"acp-shim/internal/textfile"
)

// State is how far a client is set up.
type State string

// The states of a client.
const (
	Absent State = "not found"
	Ready  State = "set up"
	Open   State = "not set up"
	Broken State = "broken"
)

// Found is what is known of a client on a machine.
type Found struct {
	Client *Client `json:"-"`
	Name   string  `json:"client"`
	State  State   `json:"state"`
	// Where is the sign by which it was found.
	Where string `json:"where,omitempty"`
	// File is its configuration, there or not; empty where that is a program.
	File string `json:"file,omitempty"`
	// Entry is the name under which the client has the agent.
	Entry   string   `json:"entry,omitempty"`
	Command []string `json:"command,omitempty"`
	// Missing are the agents that entries have the shim start, and that are not there.
	Missing []string `json:"missing,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// Detect looks for all clients.
func Detect(m Machine) []Found {
	var list []Found
	for _, c := range Clients() {
		list = append(list, c.Detect(m))
	}
	return list
}

// Detect looks for a client and at its configuration.
func (c *Client) Detect(m Machine) Found {
	f := Found{Client: c, Name: c.Name, State: Absent, File: c.File(m), Where: c.found(m)}
	if f.Where == "" && !isThere(f.File) {
		return f
	}
	f.State = Open
	if c.shape == nil {
		if file := mentions(c.texts(m)); file != "" {
			f.State, f.Where = Ready, file
		}
		return f
	}
	_, text, err := readThrough(f.File)
	if err != nil {
		f.State, f.Problem = Broken, err.Error()
		return f
	}
	d, err := parse(f.File, text, !c.shape.lenient)
	if err != nil {
		f.State, f.Problem = Broken, err.Error()
		return f
	}
	c.shape.look(d, &f)
	return f
}

// look finds the agent in a configuration.
func (s *shape) look(d *document, f *Found) {
	if s.file {
		var bin string
		d.decode(s.at(s.name), &bin)
		if bin != "" {
			f.Entry, f.Command = strings.Join(s.at(s.name), "."), []string{bin}
			if isShim(bin) {
				f.State = Ready
			}
		}
		return
	}
	list, err := s.entries(d)
	var broken *BrokenError
	if errors.As(err, &broken) {
		broken.File = f.File
		f.State, f.Problem = Broken, broken.Error()
		return
	}
	for _, e := range list {
		if path := Missing(e.words); path != "" && !slices.Contains(f.Missing, path) {
			f.Missing = append(f.Missing, path)
		}
	}
	e, there := s.choose(list, "", nil)
	if !there {
		return
	}
	f.Entry, f.Command = e.name, e.words
	if e.ours() {
		f.State = Ready
	}
}

// names are the keys of the object at a path, those that are there twice once.
func (d *document) names(path []string) []string {
	v, _, _, _, err := d.find(path)
	if err != nil || v == nil {
		return nil
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var list []string
	seen := map[string]bool{}
	for _, m := range obj.Members {
		if name := m.Name.Value.(hujson.Literal).String(); !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// mentions is the first of some files that names the shim.
func mentions(files []string) string {
	for _, f := range files[:min(len(files), 500)] {
		if b, err := textfile.Read(f); f != "" && err == nil && strings.Contains(string(b), "acp-shim") {
			return f
		}
	}
	return ""
}

// Snippet is what to put into a configuration that is a program, and where.
func (c *Client) Snippet(r Request) (text, where string, ok bool) {
	if c.snippet == nil {
		return "", "", false
	}
	return c.snippet(r), c.where, true
}
