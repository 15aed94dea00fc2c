//go:build unix

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// place is a fake file system: a home, a directory for PATH, and this shim.
type place struct {
	t    *testing.T
	root string
	env  map[string]string
}

func newPlace(t *testing.T) *place {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: root, env: map[string]string{"HOME": root + "/home", "PATH": root + "/bin:relative::" + root + "/bin2"}}
	p.put("shim/acp-shim", 0o755)
	for _, d := range []string{"home", "bin", "bin2"} {
		os.MkdirAll(p.at(d), 0o755)
	}
	return p
}

func (p *place) at(name string) string { return filepath.Join(p.root, name) }

func (p *place) put(name string, mode os.FileMode) string {
	p.t.Helper()
	os.MkdirAll(filepath.Dir(p.at(name)), 0o755)
	if err := os.WriteFile(p.at(name), []byte(name), mode); err != nil {
		p.t.Fatal(err)
	}
	return p.at(name)
}

func (p *place) link(target, name string) {
	p.t.Helper()
	os.MkdirAll(filepath.Dir(p.at(name)), 0o755)
	if err := os.Symlink(target, p.at(name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) query(change func(*Query)) Query {
	q := Query{
		Getenv: func(k string) string { return p.env[k] },
		Exe:    p.at("shim/acp-shim"), SelfOK: []string{"sim", "replay"},
	}
	if change != nil {
		change(&q)
	}
	return q
}

const (
	build1 = "home/.local/opt/agy-acp/rc01/"
	server = "agy_acp_server.par"
	harn   = "localharness_external"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(*place)
		query  func(*Query)
		goos   string
		path   string // below the root
		args   []string
		env    string // the harness, below the root
		agy    bool
		source string
		warns  bool
	}{
		{
			name: "words come first", path: "bin/opencode", args: []string{"acp", "--x=a b"}, source: "the command after --",
			set: func(p *place) { p.put("bin/opencode", 0o755); p.put("bin/"+server, 0o755) },
			query: func(q *Query) {
				q.Words, q.Flag, q.Env = []string{"opencode", "acp", "--x=a b"}, "other", "other"
			},
		},
		{
			name: "the flag before the environment", path: "home/my agents/a", args: []string{"--deep", "b c"}, source: "--agent",
			set:   func(p *place) { p.put("home/my agents/a", 0o755) },
			query: func(q *Query) { q.Flag, q.Env = `"`+q.Getenv("HOME")+`/my agents/a" --deep 'b c'`, "other" },
		},
		{
			name: "the flag as a path with a blank", path: "home/my agents/a", source: "--agent",
			set:   func(p *place) { p.put("home/my agents/a", 0o755) },
			query: func(q *Query) { q.Flag = "~/my agents/a" },
		},
		{
			name: "the environment before the config file", path: "home/a", args: []string{"x"}, source: "ACP_SHIM_AGENT",
			set:   func(p *place) { p.put("home/a", 0o755) },
			query: func(q *Query) { q.Env, q.Config = "~/a x", "other" },
		},
		{
			name: "the config file before PATH", path: "bin2/a", source: "the config file",
			set:   func(p *place) { p.put("bin2/a", 0o755); p.put("bin/"+server, 0o755) },
			query: func(q *Query) { q.Config = " a " },
		},
		{
			name: "PATH", path: "bin/" + server, args: []string{"--uid="}, agy: true, source: "PATH", warns: true,
			set: func(p *place) { p.put("bin/"+server, 0o755); p.put(build1+server, 0o755) },
		},
		{
			name: "PATH past what cannot be run", path: "bin2/" + server, args: []string{"--uid="}, agy: true, source: "PATH",
			set: func(p *place) { p.put("bin/"+server, 0o644); p.put("bin2/"+server, 0o755); p.put("bin2/"+harn, 0o755) },
		},
		{
			name: "PATH past a link to the shim", path: "bin2/" + server, args: []string{"--uid="}, agy: true, source: "PATH",
			set: func(p *place) {
				p.link("../shim/acp-shim", "bin/"+server)
				p.put("bin2/"+server, 0o755)
				p.put("bin2/"+harn, 0o755)
			},
		},
		{
			name: "current is pinned", path: build1 + server, args: []string{"--uid="}, agy: true, source: "~/.local/opt/agy-acp/current",
			set: func(p *place) {
				p.put(build1+server, 0o755)
				p.put(build1+harn, 0o755)
				p.link("rc01", "home/.local/opt/agy-acp/current")
			},
		},
		{
			name: "own flags and --uid stay", path: build1 + server, args: []string{"--uid=5", "--debug"}, agy: true, source: "the command after --",
			set: func(p *place) { p.put(build1+server, 0o755); p.put(build1+harn, 0o755) },
			query: func(q *Query) {
				q.Words, q.Args = []string{q.Getenv("HOME") + "/.local/opt/agy-acp/rc01/" + server, "--uid=5"}, []string{"--debug"}
			},
		},
		{
			name: "no --uid on macOS", goos: "darwin", path: "bin/" + server, agy: true, source: "PATH", warns: true,
			set: func(p *place) { p.put("bin/"+server, 0o755) },
		},
		{
			name: "harness beside the link", path: "store/" + server, args: []string{"--uid="}, env: "store2/" + harn, agy: true, source: "~/.local/bin",
			set: func(p *place) {
				p.put("store/"+server, 0o755)
				p.put("store2/"+harn, 0o755)
				p.link(p.at("store/"+server), "home/.local/bin/"+server)
				p.link(p.at("store2/"+harn), "home/.local/bin/"+harn)
			},
		},
		{
			name: "harness named already", path: "bin/" + server, args: []string{"--uid="}, agy: true, source: "PATH",
			set: func(p *place) { p.put("bin/"+server, 0o755); p.env[harnessEnv] = "/elsewhere" },
		},
		{
			name: "server under another name", path: "store/" + server, args: []string{"--uid="}, agy: true, source: "--agent",
			set: func(p *place) {
				p.put("store/"+server, 0o755)
				p.put("store/"+harn, 0o755)
				p.link("../store/"+server, "bin/agy")
			},
			query: func(q *Query) { q.Flag = "agy" },
		},
		{
			name: "a foreign link keeps its name, its directory is pinned", path: "venv-3/bin/python", args: []string{"-m", "agent"}, source: "--agent",
			set: func(p *place) {
				p.put("usr/python3.12", 0o755)
				p.link("../../usr/python3.12", "venv-3/bin/python")
				p.link("venv-3", "venv")
			},
			query: func(q *Query) { q.Flag = strings.TrimSuffix(q.Exe, "shim/acp-shim") + "venv/bin/python -m agent" },
		},
		{
			name: "the shim's own simulator", path: "shim/acp-shim", args: []string{"sim", "--build", "rc01"}, source: "--agent",
			query: func(q *Query) { q.Flag = q.Exe + " sim --build rc01" },
		},
		{
			name: "the simulator of a shim that is called like the server", path: "shim/acp-shim", args: []string{"sim"}, source: "--agent",
			set:   func(p *place) { p.link("../shim/acp-shim", "bin/"+server) },
			query: func(q *Query) { q.Flag = server + " sim" },
		},
		{
			name: "Zed's newest", path: "home/.local/share/zed/external_agents/registry/antigravity/v_1.3.0_b_b/" + server,
			args: []string{"--uid="}, agy: true, source: "Zed's installation",
			set: func(p *place) {
				old := p.put("home/.local/share/zed/external_agents/registry/antigravity/v_1.2.1_a_a/"+server, 0o755)
				os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour))
				p.put("home/.local/share/zed/external_agents/registry/antigravity/v_1.3.0_b_b/"+server, 0o755)
				p.put("home/.local/share/zed/external_agents/registry/antigravity/v_1.3.0_b_b/"+harn, 0o755)
				bad := p.put("home/.local/share/zed/external_agents/registry/antigravity/v_1.4.0_c_c/"+server, 0o644)
				os.Chtimes(bad, time.Time{}, time.Now().Add(time.Hour))
				deep := p.put("home/.local/share/zed/external_agents/a/b/c/d/e/f/"+server, 0o755)
				os.Chtimes(deep, time.Time{}, time.Now().Add(time.Hour))
				npm := p.put("home/.local/share/zed/external_agents/x/node_modules/"+server, 0o755)
				os.Chtimes(npm, time.Time{}, time.Now().Add(time.Hour))
			},
		},
		{
			name: "Zed in XDG_DATA_HOME", path: "xdg/zed/external_agents/registry/a/v_1/" + server, args: []string{"--uid="}, agy: true,
			source: "Zed's installation", warns: true,
			set: func(p *place) {
				p.env["XDG_DATA_HOME"] = p.at("xdg")
				delete(p.env, "HOME")
				p.put("xdg/zed/external_agents/registry/a/v_1/"+server, 0o755)
			},
		},
		{
			name: "Zed on macOS", goos: "darwin", path: "home/Library/Application Support/Zed/external_agents/registry/a/v_1/" + server, agy: true,
			source: "Zed's installation", warns: true,
			set: func(p *place) {
				p.put("home/Library/Application Support/Zed/external_agents/registry/a/v_1/"+server, 0o755)
			},
		},
		{
			name: "Zed in a flatpak", path: "home/.var/app/dev.zed.Zed/data/zed/external_agents/registry/a/v_1/" + server, args: []string{"--uid="}, agy: true,
			source: "Zed's installation", warns: true,
			set: func(p *place) {
				p.put("home/.var/app/dev.zed.Zed/data/zed/external_agents/registry/a/v_1/"+server, 0o755)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			if c.set != nil {
				c.set(p)
			}
			goos := c.goos
			if goos == "" {
				goos = "linux"
			}
			got, err := find(p.query(c.query), goos)
			if err != nil {
				t.Fatal(err)
			}
			var env []string
			if c.env != "" {
				env = []string{harnessEnv + "=" + p.at(c.env)}
			}
			if got.Path != p.at(c.path) || !slices.Equal(got.Args, c.args) || !slices.Equal(got.Env, env) ||
				got.IsAgy != c.agy || got.Source != c.source || (len(got.Warnings) > 0) != c.warns {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestFindWhatWasNamedOrNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(*place)
		query func(*Query)
		want  string // "@" is the root
	}{
		{"not there", nil, func(q *Query) { q.Flag = "~/agy_acp_server.pra" },
			`the agent that --agent names (~/agy_acp_server.pra) cannot be used: not found: did you mean @/home/agy_acp_server.par?`},
		{"not on PATH", nil, func(q *Query) { q.Env = "opencode acp" },
			`the agent that ACP_SHIM_AGENT names (opencode acp) cannot be used: not found in the 2 directories of PATH`},
		{"not executable on PATH", func(p *place) { p.put("bin/opencode", 0o600) }, func(q *Query) { q.Words = []string{"opencode"} },
			`the agent that the command after -- names (opencode) cannot be used: @/bin/opencode: not executable (mode 0600); make it so: chmod +x @/bin/opencode`},
		{"a directory", nil, func(q *Query) { q.Config = "~/" },
			`the agent that the config file names (~/) cannot be used: it is a directory; did you mean @/home/agy_acp_server.par?`},
		{"itself", nil, func(q *Query) { q.Flag = q.Exe },
			`the agent that --agent names (@/shim/acp-shim) cannot be used: it is this shim itself`},
		{"itself by a link on PATH", func(p *place) { p.link("../shim/acp-shim", "bin/x") }, func(q *Query) { q.Flag = "x run" },
			`the agent that --agent names (x run) cannot be used: it is this shim itself`},
		{"dangling", func(p *place) { p.link("gone", "home/l") }, func(q *Query) { q.Flag = "~/l" },
			`the agent that --agent names (~/l) cannot be used: it is a symbolic link to gone, which is not there`},
		{"quotes", nil, func(q *Query) { q.Flag = `"open` },
			`the agent that --agent names ("open) cannot be used: a double quote is not closed`},
		{"no home", func(p *place) { delete(p.env, "HOME") }, func(q *Query) { q.Flag = "~/a" },
			`the agent that --agent names (~/a) cannot be used: there is no home directory (HOME is not set) to replace the ~ with`},
		{"no PATH", func(p *place) { delete(p.env, "PATH") }, func(q *Query) { q.Flag = "a" },
			`the agent that --agent names (a) cannot be used: PATH is empty, so that only a path can name it`},
		{"an empty word", nil, func(q *Query) { q.Words = []string{""} },
			`the agent that the command after -- names () cannot be used: it is empty`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.put("home/"+server, 0o755) // it must not be fallen back to
			p.put("bin/"+server, 0o755)
			if c.set != nil {
				c.set(p)
			}
			_, err := find(p.query(c.query), "linux")
			var given *GivenError
			if !errors.As(err, &given) {
				t.Fatalf("error %v", err)
			}
			if got := strings.ReplaceAll(err.Error(), p.root, "@"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	p := newPlace(t)
	p.put("bin/"+server, 0o644)
	p.link("../../../shim/acp-shim", "home/.local/bin/"+server)
	_, err := find(p.query(nil), "linux")
	var none *NotFoundError
	if !errors.As(err, &none) {
		t.Fatalf("error %v", err)
	}
	got := strings.ReplaceAll(strings.Join(none.Tried, "\n"), p.root, "@")
	want := `the command after --: none given
--agent: not given
ACP_SHIM_AGENT: not set
the config file: names none
@/bin/agy_acp_server.par: not executable (mode 0644); make it so: chmod +x @/bin/agy_acp_server.par
PATH: no agy_acp_server.par that can be used in its 2 directories
@/home/.local/opt/agy-acp/current/agy_acp_server.par: not there
@/home/.local/bin/agy_acp_server.par: it is this shim itself
@/home/.local/share/zed/external_agents: not there
@/home/.var/app/dev.zed.Zed/data/zed/external_agents: not there`
	if got != want {
		t.Errorf("tried:\n%s\nwant:\n%s", got, want)
	}

	// With PATH as the only variable, and with none at all.
	p.env = map[string]string{"PATH": p.at("bin2")}
	_, err = find(p.query(nil), "linux")
	if !errors.As(err, &none) || !slices.Contains(none.Tried, "~/.local/bin/agy_acp_server.par: no home directory") ||
		!slices.Contains(none.Tried, "Zed's external_agents: no home directory") {
		t.Errorf("without a home: %v", err)
	}
	p.env = nil
	if _, err = find(p.query(nil), "linux"); !errors.As(err, &none) {
		t.Errorf("without any variable: %v", err)
	}
}

func TestFindStopsTheSnake(t *testing.T) {
	p := newPlace(t)
	p.put("bin/"+server, 0o755)
	p.env[EnvDepth] = "4"
	if _, err := find(p.query(nil), "linux"); err != nil {
		t.Errorf("at depth 4: %v", err)
	}
	p.env[EnvDepth] = "5"
	_, err := find(p.query(nil), "linux")
	var deep *DepthError
	if !errors.As(err, &deep) || deep.Depth != 5 || !strings.Contains(err.Error(), "again and again") {
		t.Errorf("at depth 5: %v", err)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestFindSelfOnPath takes the first of its name where the shim itself is meant, and
// the next where it is not.
func TestFindSelfOnPath(t *testing.T) {
	p := newPlace(t)
	p.link(p.at("shim/acp-shim"), "bin/acp-shim")
	p.put("bin2/acp-shim", 0o755)
	for words, want := range map[string]string{"acp-shim sim": "bin/acp-shim", "acp-shim other": "bin2/acp-shim"} {
		found, err := find(p.query(func(q *Query) { q.Words = strings.Fields(words) }), "linux")
		if err != nil || found.Path != p.at(want) {
			t.Errorf("%s: %s, %v; want %s", words, found.Path, err, want)
		}
	}
}
