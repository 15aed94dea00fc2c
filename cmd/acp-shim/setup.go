package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"acp-shim/internal/editors"
	"acp-shim/internal/settings"
)

// setupCmd puts the shim into the configuration of clients.
type setupCmd struct {
	Client   string `arg:"" optional:"" help:"zed, pi, acpx, codecompanion, avante, jetbrains, emacs or paseo; without one it says what is there."`
	Write    bool   `xor:"do" help:"Make the change (zed, pi, acpx), with a backup beside."`
	Undo     bool   `xor:"do" help:"Take the change back."`
	Agent    string `placeholder:"CMD" help:"The agent's command, to be put behind --; without it the shim finds the agent by itself."`
	Name     string `placeholder:"NAME" help:"The agent's name for the client; without it the name of the entry that is there."`
	Settings string `placeholder:"FILE" help:"The client's configuration, where it is not in the usual place."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (setupCmd) Help() string {
	return "Alone it says which clients are there and whether they use the shim. With a client it shows the change to that client's configuration; " +
		"--write makes it, and --undo takes it back.\n\n" +
		"  acp-shim setup\n" +
		"  acp-shim setup zed --write\n" +
		"  acp-shim setup acpx --agent '~/agy/agy_acp_server.par' --name agy"
}

func (c setupCmd) Run() error {
	if c.Client == "" {
		if c.Write || c.Undo || c.Agent != "" || c.Name != "" || c.Settings != "" {
			return errors.New("name a client: acp-shim setup zed; acp-shim setup says which there are")
		}
		return c.overview()
	}
	client, err := editors.Find(c.Client)
	if err != nil {
		return err
	}
	m := editors.ThisMachine()
	if c.Undo {
		return c.undo(client, m)
	}
	r, err := c.request()
	if err != nil {
		return err
	}
	if text, where, ok := client.Snippet(r); ok {
		c.warnMissing(append([]string{r.Shim, "--"}, r.Agent...))
		if c.Write {
			return fmt.Errorf("the configuration of %s is a program, which the shim does not change; put it in by hand: acp-shim setup %s", client.Title, client.Name)
		}
		return c.snippet(client, r, text, where)
	}
	file := c.Settings
	if file != "" {
		file = expandHome(file)
	}
	p, err := client.Plan(m, r, file)
	if err != nil {
		return failed(err)
	}
	c.warnMissing(p.Now)
	if c.Write {
		return c.write(p)
	}
	return c.show(p)
}

// request is what is to be put in.
func (c setupCmd) request() (editors.Request, error) {
	path, warning, err := shimPath()
	if err != nil {
		return editors.Request{}, err
	}
	if warning != "" {
		fmt.Fprintln(os.Stderr, "acp-shim: warning:", shown(warning))
	}
	r := editors.Request{Shim: path, Name: c.Name}
	if c.Agent != "" {
		if r.Agent, err = editors.Words(c.Agent, runtime.GOOS != "windows"); err != nil {
			return r, fmt.Errorf("--agent: %w", err)
		}
		r.Agent[0] = expandHome(r.Agent[0])
	}
	if set, err := settings.Load(nil, false, os.Getenv); err == nil {
		if found, err := findAgent(set); err == nil && found.IsAgy {
			r.Default = found.Path
		}
	}
	return r, nil
}

// warnMissing tells of an agent in an entry that is not there.
func (c setupCmd) warnMissing(command []string) {
	path := editors.Missing(command)
	if path == "" {
		return
	}
	do := "leave --agent out to use the installed one"
	if c.Agent == "" {
		do = "name one that is there with --agent, or take -- and what is behind it out of the entry to use the installed one"
	}
	fmt.Fprintln(os.Stderr, "acp-shim: warning:", shown("the agent "+tilde(path)+" is not there; "+do))
}

// shimPath is the name by which the shim is started later: the one that the user
// calls it by, since what that is a link to may have a version in it.
func shimPath() (path, warning string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("the shim's own path is not known: %w", err)
	}
	path = exe
	if called, err := lookSelf(os.Args[0]); err == nil {
		a, err1 := os.Stat(called)
		b, err2 := os.Stat(exe)
		if err1 == nil && err2 == nil && os.SameFile(a, b) {
			path = called
		}
	}
	home, err := os.UserHomeDir()
	if err == nil {
		home = oneName(home)
	}
	return path, fleeting(path, oneName(path), oneName(os.TempDir()), home), nil
}

// fleeting warns of a shim, by its path and what that is a link to, that will not stay
// where it is. A home may itself be below the temporary directory; what is in it stays
// as long as all else there. home is "" where there is none.
func fleeting(path, real, temp, home string) string {
	within := func(path, dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }
	atHome := home != "" && within(home, temp) && within(real, home)
	switch {
	case strings.Contains(real, string(filepath.Separator)+"go-build"):
		return path + " is what go run has built, and will be gone; build one to stay: go build -o ~/.local/bin/acp-shim ./cmd/acp-shim"
	case !atHome && (within(real, temp) || within(path, temp)):
		return path + " is in a temporary directory; put it into one to stay, such as ~/.local/bin, and run it from there"
	}
	return ""
}

func (c setupCmd) overview() error {
	list := editors.Detect(editors.ThisMachine())
	if c.JSON {
		for _, f := range list {
			if err := printJSON(stdout, f); err != nil {
				return err
			}
		}
		return nil
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "CLIENT\tSTATE\tAGENT\tWHERE\tDO")
	for _, f := range list {
		where, do, name := "-", "-", "-"
		if f.Where != "" {
			where = tilde(f.Where)
		}
		if f.Entry != "" {
			name = f.Entry
		}
		switch f.State {
		case editors.Open:
			do = "acp-shim setup " + f.Name
			if f.Client.Writes {
				do += " --write"
			}
		case editors.Broken:
			do = "mend " + tilde(f.File)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", f.Name, f.State, shown(name), shown(where), shown(do))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, f := range list {
		if f.Problem != "" {
			fmt.Fprintln(stdout, shown(f.Name+": "+f.Problem))
		}
		for _, path := range f.Missing {
			fmt.Fprintln(stdout, shown(f.Name+": the agent "+tilde(path)+" is not there"))
		}
	}
	if !slices.ContainsFunc(list, func(f editors.Found) bool { return f.State != editors.Absent }) {
		fmt.Fprintln(stdout, "none of these was found here; acp-shim setup NAME shows the change all the same")
	}
	return nil
}
