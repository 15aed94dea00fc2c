package editors

import (
	"errors"
	"path/filepath"
	"strings"
)

// Client is one that can be set up.
type Client struct {
	// Name is what the command calls it, Title what people do.
	Name, Title string
	// Writes tells that the shim makes the change itself.
	Writes bool
	// Check says how to see that it works; NAME stands for the agent's name.
	Check string

	// files are the places of its configuration; the first one is made if none is
	// there. Empty for a configuration that is a program.
	files func(Machine) []string
	// found is a sign that it is installed.
	found func(Machine) string
	// texts are the files in which a configuration that is a program would name
	// the shim.
	texts func(Machine) []string
	// shape is the form of a JSON configuration.
	shape *shape
	// snippet is what to put into a configuration that is a program.
	snippet func(Request) string
	// where says where that goes.
	where string
}

// Clients are all of them.
func Clients() []*Client {
	return []*Client{zed(), pi(), acpx(), codecompanion(), avante(), jetbrains(), emacs(), paseo()}
}

// Find is the client of a name.
func Find(name string) (*Client, error) {
	var names []string
	for _, c := range Clients() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return nil, errors.New(quoted(name) + " is no client that acp-shim can set up; it can: " + strings.Join(names, ", "))
}

func quoted(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return `"` + s + `"`
}

func zed() *Client {
	return &Client{
		Name: "zed", Title: "Zed", Writes: true, files: Machine.zed,
		Check: `choose "NAME" with + in the agent panel and say something; what is said shows in "dev: open acp logs"`,
		found: func(m Machine) string {
			for _, f := range m.zed() {
				if f != "" && isThere(filepath.Dir(f)) {
					return filepath.Dir(f)
				}
			}
			return m.program("zed", "zeditor", "zed-editor")
		},
		shape: &shape{path: []string{"agent_servers"}, name: "Antigravity (acp-shim)", lenient: true, custom: true},
	}
}

func pi() *Client {
	file := func(m Machine) []string {
		return []string{m.home(".pi", "agent", "antigravity-bridge", "config.json")}
	}
	return &Client{
		Name: "pi", Title: "pi (pi-antigravity-bridge)", Writes: true, files: file,
		Check: "start pi again; /agy status names the file, /model has the models of antigravity",
		found: func(m Machine) string {
			if dir := m.home(".pi", "agent"); isThere(dir) {
				return dir
			}
			return m.program("pi")
		},
		shape: &shape{path: []string{"acp"}, name: "bin", file: true},
	}
}

func acpx() *Client {
	file := func(m Machine) []string { return []string{m.home(".acpx", "config.json")} }
	return &Client{
		Name: "acpx", Title: "acpx", Writes: true, files: file,
		Check: "acpx NAME exec 'hello'",
		found: func(m Machine) string {
			if dir := m.home(".acpx"); isThere(dir) {
				return dir
			}
			return m.program("acpx")
		},
		// acpx has an agent of that name built in; an entry of that name replaces it.
		shape: &shape{path: []string{"agents"}, name: "antigravity", argv: "argv", fold: true},
	}
}

func jetbrains() *Client {
	file := func(m Machine) []string { return []string{m.home(".jetbrains", "acp.json")} }
	return &Client{
		Name: "jetbrains", Title: "JetBrains IDEs (AI Assistant)", files: file,
		Check: `choose "NAME" in the AI chat's list of agents`,
		found: func(m Machine) string {
			dir := m.config("JetBrains")
			switch m.GOOS {
			case "windows":
				dir = m.roaming("JetBrains")
			case "darwin":
				dir = m.home("Library", "Application Support", "JetBrains")
			}
			for _, d := range []string{m.home(".jetbrains"), dir} {
				if isThere(d) {
					return d
				}
			}
			return ""
		},
		shape: &shape{path: []string{"agent_servers"}, name: "Antigravity (acp-shim)"},
	}
}

func paseo() *Client {
	file := func(m Machine) []string {
		return []string{m.under("PASEO_HOME", m.home(".paseo"), "config.json")}
	}
	return &Client{
		Name: "paseo", Title: "Paseo", files: file,
		Check: `run "paseo reload" and start an agent of the provider NAME`,
		found: func(m Machine) string {
			if f := file(m)[0]; f != "" && isThere(filepath.Dir(f)) {
				return filepath.Dir(f)
			}
			return m.program("paseo")
		},
		// Its own provider antigravity drives another program, agy.
		shape: &shape{path: []string{"agents", "providers"}, name: "antigravity-acp", argv: "command", id: true,
			also: []member{{"extends", "acp"}, {"label", "Antigravity (acp-shim)"}}},
	}
}
