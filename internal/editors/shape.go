package editors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shape is the form of a client's JSON configuration.
type shape struct {
	// path leads to the object of the agents, name is the one that is made where
	// none is there.
	path []string
	name string
	// argv is the key of a list with the command and its arguments; else the
	// command and its arguments have keys of their own.
	argv string
	// file is set where the value is one file alone.
	file bool
	// custom is Zed's: entries have a type.
	custom bool
	// also are further members of a new entry.
	also []member
	// lenient clients read comments and trailing commas.
	lenient bool
	// fold clients take names in lower case; id ones have narrow rules for them.
	fold, id bool
}

// Request says what to put into a configuration.
type Request struct {
	// Shim is the path of the shim.
	Shim string
	// Agent is the command behind --, where one is wanted.
	Agent []string
	// Name is the agent's name for the client, where another one is wanted.
	Name string
	// Default is the agent that the shim finds by itself, "" for none.
	Default string
}

func (r Request) argv() []string {
	argv := []string{r.Shim}
	if len(r.Agent) > 0 {
		argv = append(append(argv, "--"), r.Agent...)
	}
	return argv
}

// server is the beginning of the Antigravity server's file name on all systems.
const server = "agy_acp_server"

// registryID is its id in the ACP registry, under which Zed has it.
const registryID = "antigravity-acp"

// isServer tells the Antigravity server by a word of a command.
func isServer(word string) bool { return strings.HasPrefix(base(word), server) }

// isShim tells a shim by the command that starts it.
func isShim(command string) bool {
	b := base(command)
	return b == "acp-shim" || b == "acp-shim.exe" || strings.HasPrefix(b, "acp-shim-")
}

// base is a path's last part, by the rules of every system: a configuration may
// be written on Linux for Windows.
func base(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// entry is an agent of a configuration.
type entry struct {
	name string
	// words is the command with its arguments.
	words []string
	// registry is set for an agent that Zed has from the ACP registry.
	registry bool
}

// ours tells that an entry starts the shim, for the Antigravity server.
func (e entry) ours() bool {
	if len(e.words) == 0 || !isShim(e.words[0]) {
		return false
	}
	_, agent := cutAgent(e.words[1:])
	return agent == nil || isShim(agent[0]) || slices.ContainsFunc(agent, isServer)
}

// fronts tells that an entry starts the shim for just that agent.
func (e entry) fronts(agent []string) bool {
	if len(e.words) == 0 || !isShim(e.words[0]) || len(agent) == 0 {
		return false
	}
	_, own := cutAgent(e.words[1:])
	return slices.Equal(own, agent)
}

// bare tells that an entry starts the Antigravity server without the shim.
func (e entry) bare() bool {
	if e.registry {
		return e.name == registryID
	}
	for i, w := range e.words {
		if isServer(w) {
			return i == 0 || !isShim(e.words[0])
		}
	}
	return false
}

// cutAgent parts a shim's arguments at the --.
func cutAgent(args []string) (own, agent []string) {
	for i, a := range args {
		if a == "--" {
			if i+1 < len(args) {
				return args[:i], args[i+1:]
			}
			return args[:i], nil
		}
	}
	return args, nil
}

// Missing is the agent behind the -- of a command that starts the shim, where that
// is a file by its path and is not there.
func Missing(words []string) string {
	if len(words) == 0 || !isShim(words[0]) {
		return ""
	}
	_, agent := cutAgent(words[1:])
	if len(agent) == 0 || !filepath.IsAbs(agent[0]) {
		return ""
	}
	if _, err := os.Stat(agent[0]); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return agent[0]
}

// at is the path of the entry with a name.
func (s *shape) at(name string) []string { return slices.Concat(s.path, []string{name}) }

// entries are the agents of a configuration, in their order.
func (s *shape) entries(d *document) ([]entry, error) {
	// What is no object on the way to them is an error, whether an agent is there or not.
	if _, _, _, _, err := d.find(s.at("")); err != nil {
		return nil, err
	}
	var list []entry
	for _, name := range d.names(s.path) {
		e := entry{name: name}
		at := s.at(name)
		if _, _, _, _, err := d.find(at); err != nil {
			return nil, err
		}
		key := func(name string) []string { return slices.Concat(at, []string{name}) }
		if s.argv != "" && d.decode(key(s.argv), &e.words) {
			list = append(list, e)
			continue
		}
		var typ, command string
		var args []string
		d.decode(key("type"), &typ)
		d.decode(key("command"), &command)
		d.decode(key("args"), &args)
		e.registry = typ == "registry"
		if command != "" {
			if s.argv != "" && args == nil {
				// acpx' older form: a line for the shell.
				e.words = strings.Fields(command)
			} else {
				e.words = append([]string{command}, args...)
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// choose is the entry that is changed, and whether it is there.
func (s *shape) choose(list []entry, name string, agent []string) (entry, bool) {
	same := func(a, b string) bool {
		return a == b || s.fold && strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
	}
	if name != "" {
		for _, e := range list {
			if same(e.name, name) {
				return e, true
			}
		}
		return entry{name: name}, false
	}
	fronts := func(e entry) bool { return e.fronts(agent) }
	for _, is := range []func(entry) bool{fronts, entry.ours, entry.bare} {
		for _, e := range list {
			if is(e) {
				return e, true
			}
		}
	}
	for _, e := range list {
		if same(e.name, s.name) && s.argv == "argv" {
			return e, true
		}
	}
	return entry{name: s.name}, false
}

// args are the shim's arguments in an entry's place.
func (e entry) args(r Request) []string {
	own, agent := []string{}, r.Agent
	switch {
	case len(e.words) > 0 && isShim(e.words[0]):
		var old []string
		own, old = cutAgent(e.words[1:])
		if agent == nil {
			agent = old
		}
	case agent == nil && len(e.words) > 0 && e.needed(r):
		agent = e.words
	}
	if len(agent) == 0 {
		return own
	}
	return append(append(append([]string{}, own...), "--"), agent...)
}

// needed tells that an entry's command has to be kept behind --: it is not what
// the shim finds by itself. The --uid= of the registry's entry the shim gives
// the agent as well.
func (e entry) needed(r Request) bool {
	if !isServer(e.words[0]) {
		return true // a wrapper does something
	}
	for _, a := range e.words[1:] {
		if a != "--uid=" {
			return true
		}
	}
	if r.Default == "" {
		return true
	}
	if !strings.ContainsAny(e.words[0], `/\`) {
		return false
	}
	return !sameFile(e.words[0], r.Default)
}

// checkName says what is wrong with a name for this client.
func (s *shape) checkName(name string) error {
	switch {
	case name == "":
		return nil
	case s.file:
		return errors.New("it has one agent and no names for it; leave --name out")
	case len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("the name is too long, or has control characters in it")
	case s.fold && strings.ToLower(strings.TrimSpace(name)) != name:
		return fmt.Errorf("it takes names in lower case: --name %s", strings.ToLower(strings.TrimSpace(name)))
	case s.id && (name[0] < 'a' || name[0] > 'z' || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""):
		return errors.New("its names begin with a letter and are made of lower-case letters, digits and dashes")
	}
	return nil
}

func sameFile(a, b string) bool {
	ra, err1 := filepath.EvalSymlinks(a)
	rb, err2 := filepath.EvalSymlinks(b)
	return err1 == nil && err2 == nil && ra == rb
}
