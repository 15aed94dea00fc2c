package editors

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"acp-shim/internal/textfile"
)

// Plan is the change to a client's configuration, not made yet.
type Plan struct {
	Client *Client
	// File is the configuration; Real is what it is a link to, or itself.
	File, Real string
	// Before is nil where there is no file.
	Before, After []byte
	// Entry is the name that the client knows the agent by.
	Entry string
	// Was is the command that stood there, nil where none did.
	Was []string
	// Now is the command that will.
	Now   []string
	Notes []string

	changes []change
}

// Changes tells that there is something to do.
func (p *Plan) Changes() bool { return !bytes.Equal(p.Before, p.After) }

// Diff is the change as a unified diff. Values that look secret are masked.
func (p *Plan) Diff() string {
	text := string(diff.Diff(p.File, p.Before, p.File, p.After))
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest // the line that repeats the names
	}
	return Mask(strings.ReplaceAll(text, "\r\n", "\n"))
}

// Plan works out the change. Settings is the configuration's file where it is
// not in the usual place.
func (c *Client) Plan(m Machine, r Request, settings string) (*Plan, error) {
	if c.shape == nil {
		return nil, fmt.Errorf("the configuration of %s is a program", c.Title)
	}
	if err := c.shape.checkName(r.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Title, err)
	}
	p := &Plan{Client: c, File: settings}
	if settings == "" {
		if p.File = c.File(m); p.File == "" {
			return nil, fmt.Errorf("there is no home directory to look for the settings of %s in; name the file with --settings", c.Title)
		}
		for _, other := range c.files(m) {
			if other != p.File && isThere(other) {
				p.Notes = append(p.Notes, "there is another "+other+"; change it with --settings")
			}
		}
	}
	var err error
	if p.Real, p.Before, err = readThrough(p.File); err != nil {
		return nil, err
	}
	d, err := parse(p.File, p.Before, !c.shape.lenient)
	if err != nil {
		return nil, err
	}
	if err := c.shape.change(d, p, r); err != nil {
		var broken *BrokenError
		if errors.As(err, &broken) && broken.File == "" {
			broken.File = p.File
		}
		return nil, err
	}
	p.After = d.bytes()
	if len(p.changes) == 0 {
		p.After = p.Before
	}
	return p, nil
}

// File is the client's configuration: the first of its places in which one is.
func (c *Client) File(m Machine) string {
	if c.files == nil {
		return ""
	}
	list := slices.DeleteFunc(c.files(m), func(f string) bool { return f == "" })
	for _, f := range list {
		if isThere(f) {
			return f
		}
	}
	if len(list) == 0 {
		return ""
	}
	// Where only a flatpak's directory is there, that is its place.
	for _, f := range list {
		if isThere(filepath.Dir(f)) {
			return f
		}
	}
	return list[0]
}

// change makes the change in a document and notes it.
func (s *shape) change(d *document, p *Plan, r Request) error {
	if s.file {
		return s.changeFile(d, p, r)
	}
	list, err := s.entries(d)
	if err != nil {
		return err
	}
	e, there := s.choose(list, r.Name, r.Agent)
	p.Entry, p.Was = e.name, e.words
	at := s.at(e.name)
	v, _, _, _, err := d.find(at)
	if err != nil {
		return err
	}
	args := e.args(r)
	p.Now = append([]string{r.Shim}, args...)
	s.note(e, p, r)
	if there = there && v != nil; there && slices.Equal(p.Was, p.Now) && !e.registry && s.typed(d, at) {
		return nil
	}
	c := change{Path: at}
	if there {
		c.Was, _ = d.raw(at)
	}
	if !there {
		var value []member
		if s.custom {
			value = append(value, member{"type", "custom"})
		}
		value = append(value, s.also...)
		if s.argv != "" {
			value = append(value, member{s.argv, p.Now})
		} else {
			value = append(value, member{"command", r.Shim}, member{"args", args}, member{"env", []member{}})
		}
		c.Made, err = d.put(at, value)
	} else {
		err = s.edit(d, at, r.Shim, args)
	}
	if err != nil {
		return err
	}
	c.Is, _ = d.raw(at)
	p.changes = append(p.changes, c)
	return nil
}

// typed tells that an entry has the type that Zed wants.
func (s *shape) typed(d *document, at []string) bool {
	var typ string
	d.decode(slices.Concat(at, []string{"type"}), &typ)
	return !s.custom || typ == "custom"
}

// edit changes the command of an entry that is there, and nothing else of it.
func (s *shape) edit(d *document, at []string, shim string, args []string) error {
	key := func(name string) []string { return slices.Concat(at, []string{name}) }
	put := func(name string, value any) error {
		_, err := d.put(key(name), value)
		return err
	}
	if s.argv != "" {
		if s.argv == "argv" {
			// acpx refuses an entry with both.
			if err := errors.Join(d.remove(key("args")), d.remove(key("command"))); err != nil {
				return err
			}
		}
		return put(s.argv, append([]string{shim}, args...))
	}
	if s.custom && !s.typed(d, at) {
		if err := put("type", "custom"); err != nil {
			return err
		}
	}
	if err := put("command", shim); err != nil {
		return err
	}
	var old []string
	_, there := d.raw(key("args"))
	if d.decode(key("args"), &old) && slices.Equal(old, args) || !there && len(args) == 0 {
		return nil
	}
	return put("args", args)
}

// note says what people should know of a change.
func (s *shape) note(e entry, p *Plan, r Request) {
	if e.registry {
		p.Notes = append(p.Notes, "the entry is one of the ACP registry, which Zed keeps up to date; as a custom one it keeps its name, and the build stays what it is: see acp-shim agent list")
	}
	if e.bare() && !e.registry && r.Agent == nil {
		if _, kept := cutAgent(p.Now[1:]); kept == nil {
			p.Notes = append(p.Notes, "the shim finds the agent that stood there by itself")
		}
	}
}

// changeFile is for a client that takes one file without arguments.
func (s *shape) changeFile(d *document, p *Plan, r Request) error {
	if len(r.Agent) > 0 {
		return errors.New("pi runs one file without arguments; leave --agent out, and name the agent in ACP_SHIM_AGENT or as \"agent\" in the shim's config file")
	}
	at := s.at(s.name)
	v, _, _, _, err := d.find(at)
	if err != nil {
		return err
	}
	p.Entry, p.Now = strings.Join(at, "."), []string{r.Shim}
	var was, engine string
	if d.decode(at, &was); was != "" {
		p.Was = []string{was}
	}
	d.decode([]string{"engine"}, &engine)
	if engine != "acp" {
		p.Notes = append(p.Notes, "pi uses it with the engine acp only: /agy engine acp in pi, then start pi again")
	}
	if was != "" && !isShim(was) && !sameFile(was, r.Default) {
		p.Notes = append(p.Notes, "the shim would not find "+was+" by itself: name it in ACP_SHIM_AGENT or as \"agent\" in the shim's config file")
	}
	if was == r.Shim {
		return nil
	}
	c := change{Path: at}
	if v != nil {
		c.Was, _ = d.raw(at)
	}
	if c.Made, err = d.put(at, r.Shim); err != nil {
		return err
	}
	c.Is, _ = d.raw(at)
	p.changes = append(p.changes, c)
	return nil
}

// readThrough reads a file through links. A file that is not there is nil.
func readThrough(file string) (real string, text []byte, err error) {
	if real, err = realPath(file); err != nil {
		return "", nil, err
	}
	st, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return real, nil, nil
	case err == nil && !st.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s is no file", file)
	case err != nil:
		return "", nil, fmt.Errorf("reading %s: %w", file, textfile.Reason(err))
	}
	text, err = textfile.Read(real)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", file, textfile.Reason(err))
	}
	if text == nil {
		text = []byte{}
	}
	return real, text, nil
}
