package login

import (
	"bufio"
	"bytes"
	"fmt"
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

	mu      sync.Mutex
	page    Page
	opened  bool // a browser was started for it
	told    func(Page)
	watcher *fsnotify.Watcher
}

// New makes a Catch for the run with this id. dir is where the names of the browser
// are kept; without it they are in a temporary directory. exe is this program.
// told is called for each page once, from any goroutine; it may be nil.
func New(dir, exe, run string, told func(Page)) (*Catch, error) {
	c := &Catch{dir: dir, told: told}
	// The lists in PATH and BROWSER have no way to write these.
	if dir == "" || strings.ContainsAny(dir, " \t"+string(filepath.ListSeparator)) {
		temp, err := os.MkdirTemp("", "acp-shim-browser-")
		if err != nil {
			return nil, fmt.Errorf("making a place to catch login pages: %w", err)
		}
		c.dir, c.temp = temp, true
	}
	err := os.MkdirAll(filepath.Join(c.dir, "opened"), 0o700)
	for _, name := range []string{browserName, openerName} {
		if err == nil {
			err = link(exe, filepath.Join(c.dir, name))
		}
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("making a place to catch login pages: %w", err)
	}
	c.notes = filepath.Join(c.dir, "opened", run)
	return c, nil
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
	path := c.dir
	if p := getenv("PATH"); p != "" {
		path += string(filepath.ListSeparator) + p
	}
	return []string{"BROWSER=" + filepath.Join(c.dir, browserName), "PATH=" + path,
		envNotes + "=" + c.notes, envSet + "=" + getenv("BROWSER")}
}

// Begin watches for what the browser is given, until End.
func (c *Catch) Begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page, c.opened = Page{}, false
	if c.watcher != nil {
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(filepath.Dir(c.notes)); err != nil {
			w.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("watching for a login page: %w", err)
	}
	os.Remove(c.notes)
	c.watcher = w
	go func() {
		for e := range w.Events {
			if e.Name == c.notes {
				c.read()
			}
		}
	}()
	return nil
}

// End ends what Begin has begun, and removes the notes: an address is of no use
// once its login is over.
func (c *Catch) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watcher != nil {
		c.watcher.Close()
		c.watcher = nil
	}
	os.Remove(c.notes)
}

// Close removes what is left.
func (c *Catch) Close() {
	if c.notes != "" {
		c.End()
	}
	if c.temp {
		os.RemoveAll(c.dir)
	}
}

// read takes what the browser has noted: a word, and the address.
func (c *Catch) read() {
	f, err := os.Open(c.notes)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		word, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if p, ok := Find(rest); ok {
			c.caught(p, string(word) == noteOpened)
		}
	}
}

// Line takes a line that the agent has printed.
func (c *Catch) Line(line []byte) {
	if !bytes.Contains(line, https) {
		return
	}
	if p, ok := Find(line); ok {
		c.caught(p, false)
	}
}

func (c *Catch) caught(p Page, opened bool) {
	c.mu.Lock()
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
