package login

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The names under which this program is a browser, and what it is told by.
const (
	browserName = "acp-shim-browser"
	openerName  = "xdg-open"
	// envNotes names the file where the browser notes what it was given, envSet
	// has the BROWSER that was set before.
	envNotes = "ACP_SHIM_OPENED"
	envSet   = "ACP_SHIM_BROWSER_WAS"
)

// Catch catches login pages that the processes of one run are sent to.
type Catch struct {
	dir   string // where the names of the browser are; it is first on PATH
	notes string
	temp  bool

	told func(Page)

	// mu is held for moments only: the loop asks for the page under its own lock.
	mu     sync.Mutex
	page   Page
	opened bool // a browser was started for it
	watch  int  // the watch that is open, or the last one; they are numbered by Begin and End
	soon   []func()
	doing  bool

	// disk is held while files are made and watched.
	disk    sync.Mutex
	watcher *fsnotify.Watcher
	closed  bool
}

// New makes a Catch for the run with this id. dir is where the names of the browser
// are kept; without it, or where that cannot be, they are in a temporary directory. exe
// is this program. told is called for each page once, from any goroutine; it may be nil.
func New(dir, exe, run string, told func(Page)) (*Catch, error) {
	c := &Catch{dir: dir, told: told}
	if dir == "" || unlisted(dir) || names(dir, exe) != nil {
		var err error
		if c.dir, err = os.MkdirTemp("", "acp-shim-browser-"); err != nil {
			return nil, fmt.Errorf("making a place to catch login pages: %w; set TMPDIR to a directory that is there", err)
		}
		c.temp = true
		if unlisted(c.dir) {
			c.Close()
			return nil, fmt.Errorf("the temporary directory %s cannot stand in PATH; set TMPDIR to another one", os.TempDir())
		}
		if err := names(c.dir, exe); err != nil {
			c.Close()
			return nil, fmt.Errorf("making a place to catch login pages: %w", err)
		}
	}
	sweep(filepath.Join(c.dir, "opened"))
	c.notes = filepath.Join(c.dir, "opened", run)
	return c, nil
}

// names makes the names of the browser in a directory, and a place for its notes.
func names(dir, exe string) error {
	err := os.MkdirAll(filepath.Join(dir, "opened"), 0o700)
	for _, name := range []string{browserName, openerName} {
		if err == nil {
			err = link(exe, filepath.Join(dir, name))
		}
	}
	return err
}

// unlisted tells a path that the lists in PATH and BROWSER have no way to write.
func unlisted(path string) bool {
	return strings.ContainsAny(path, " \t\n"+string(filepath.ListSeparator))
}

// sweep removes notes of shims that were killed while a login was open.
func sweep(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// link makes name stand for the program; another shim may do so at the same time.
func link(exe, name string) error {
	if to, err := os.Readlink(name); err == nil && to == exe {
		return nil
	}
	next := fmt.Sprintf("%s.%d", name, os.Getpid())
	os.Remove(next)
	if err := os.Symlink(exe, next); err != nil {
		return err
	}
	if err := os.Rename(next, name); err != nil {
		os.Remove(next)
		return err
	}
	return nil
}

// Env is what an agent's environment needs in addition to env.
func (c *Catch) Env(getenv func(string) string) []string {
	if runtime.GOOS == "windows" {
		return nil // there a page is opened without a program that could be named
	}
	set := getenv("BROWSER")
	if filepath.Base(set) == browserName {
		set = getenv(envSet) // of a shim around this one
	}
	env := []string{"BROWSER=" + filepath.Join(c.dir, browserName), envNotes + "=" + c.notes, envSet + "=" + set}
	// Without a PATH programs are looked for in the system's own places; one with
	// our directory alone would hide them.
	if path := getenv("PATH"); path != "" {
		env = append(env, "PATH="+c.dir+string(filepath.ListSeparator)+path)
	}
	return env
}

// Forget begins anew: no page was caught.
func (c *Catch) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page, c.opened = Page{}, false
}

// Soon has Begin or End called by a goroutine, in the order in which they were asked
// for, for somebody who must not wait for a disk. failed may be nil.
func (c *Catch) Soon(do func() error, failed func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.soon = append(c.soon, func() {
		if err := do(); err != nil && failed != nil {
			failed(err)
		}
	})
	if !c.doing {
		c.doing = true
		go c.work()
	}
}

func (c *Catch) work() {
	for {
		c.mu.Lock()
		if len(c.soon) == 0 {
			c.doing = false
			c.mu.Unlock()
			return
		}
		next := c.soon[0]
		c.soon = c.soon[1:]
		c.mu.Unlock()
		next()
	}
}

// Begin watches for what the browser is given, until End.
func (c *Catch) Begin() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.closed {
		return nil
	}
	if c.watcher != nil {
		return nil
	}
	// The browser writes only into notes that are there, and may wait for them: who
	// watched later could miss it.
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(filepath.Dir(c.notes)); err == nil {
			err = os.WriteFile(c.notes, nil, 0o600)
		}
		if err != nil {
			w.Close()
		}
	}
	if err != nil {
		os.Remove(c.notes)
		return fmt.Errorf("watching for a login page: %w", err)
	}
	c.watcher = w
	watch := c.number()
	go func() {
		for e := range w.Events {
			if e.Name == c.notes {
				c.read(watch)
			}
		}
	}()
	return nil
}

// End ends what Begin has begun, and removes the notes: an address is of no use
// once its login is over.
func (c *Catch) End() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.watcher != nil {
		c.watcher.Close()
		c.watcher = nil
		c.number()
	}
	if err := os.Remove(c.notes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a login page that is over: %w", err)
	}
	return nil
}

// number gives a watch its number; with it, one before is over: what its goroutine still
// has in hand belongs to a login that nobody waits for any more.
func (c *Catch) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch++
	return c.watch
}

// Close removes what is left.
func (c *Catch) Close() {
	if c.notes != "" {
		c.End()
	}
	c.disk.Lock()
	defer c.disk.Unlock()
	c.closed = true
	if c.temp {
		os.RemoveAll(c.dir)
	}
}

// read takes what the browser has noted for a watch: a word, and the address.
func (c *Catch) read(watch int) {
	f, err := os.Open(c.notes)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		word, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if p, ok := Find(rest); ok {
			c.caught(p, watch, string(word) == noteOpened)
		}
	}
}

// Line takes a line that the agent has printed.
func (c *Catch) Line(line []byte) {
	if !bytes.Contains(line, https) {
		return
	}
	if p, ok := Find(line); ok {
		c.caught(p, anyWatch, false)
	}
}

// anyWatch is for a page that no watch has found.
const anyWatch = -1

func (c *Catch) caught(p Page, watch int, opened bool) {
	c.mu.Lock()
	if watch != anyWatch && watch != c.watch {
		c.mu.Unlock()
		return
	}
	again := p == c.page
	c.page = p
	c.opened = opened || again && c.opened
	c.mu.Unlock()
	if !again && c.told != nil {
		c.told(p)
	}
}

// Page is the page that was caught last, and whether a browser was started for it.
func (c *Catch) Page() (p Page, opened bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.page, c.opened
}

// Window is how long the agent waits for a login to be finished, at the most that
// was seen (seed); its own answer is what counts.
const Window = 5 * time.Minute
