package editors

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const shimPath = "/home/you/.local/bin/acp-shim"

// desk is a machine with a home of its own.
type desk struct {
	t    *testing.T
	home string
	env  map[string]string
	m    Machine
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, home: t.TempDir(), env: map[string]string{}}
	d.m = Machine{Getenv: func(k string) string { return d.env[k] }, GOOS: "linux", Home: d.home,
		LookPath: func(string) (string, error) { return "", errors.New("not found") }}
	return d
}

func (d *desk) at(name string) string { return filepath.Join(d.home, filepath.FromSlash(name)) }

func (d *desk) put(name, text string) string {
	d.t.Helper()
	p := d.at(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) read(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(d.at(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// is checks a file's text.
func (d *desk) is(name, want string) {
	d.t.Helper()
	if got := d.read(name); got != want {
		d.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

// files are the names in a directory.
func (d *desk) files(dir string) string {
	entries, _ := os.ReadDir(d.at(dir))
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func client(t *testing.T, name string) *Client {
	t.Helper()
	c, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (d *desk) plan(name string, r Request) (*Plan, error) {
	if r.Shim == "" {
		r.Shim = shimPath
	}
	return client(d.t, name).Plan(d.m, r, "")
}

func (d *desk) write(name string, r Request) *Plan {
	d.t.Helper()
	p, err := d.plan(name, r)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := p.Write(); err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) undo(name string) *Undone {
	d.t.Helper()
	u, err := client(d.t, name).Undo(d.m, "")
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

func fails(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in the error: %v", w, err)
		}
	}
}

// files of the clients, below the home.
const (
	zedFile  = ".config/zed/settings.json"
	piFile   = ".pi/agent/antigravity-bridge/config.json"
	acpxFile = ".acpx/config.json"
)
