package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"acp-shim/internal/install"
	"acp-shim/internal/show"
)

// agentCmd keeps builds of the Antigravity server.
type agentCmd struct {
	Install agentInstall `cmd:"" help:"Install a build of the Antigravity server, from the ACP registry, an address or a file."`
	List    agentList    `cmd:"" help:"List the builds that are installed."`
	Use     agentUse     `cmd:"" help:"Make an installed build the one in use."`
	Remove  agentRemove  `cmd:"" help:"Remove an installed build."`
	Verify  agentVerify  `cmd:"" help:"Compare the files of a build with what was installed."`
}

// Help implements kong.HelpProvider.
func (agentCmd) Help() string {
	return "Builds are kept side by side in ~/.local/opt/agy-acp, where the shim finds the one in use by itself.\n\n" +
		"  acp-shim agent install                     what the registry has today, pinned\n" +
		"  acp-shim agent install ./agy-acp-server-1.2.1-linux-x86_64.zip\n" +
		"  acp-shim agent list"
}

// agentRoot says where the builds are.
type agentRoot struct {
	Root string `placeholder:"DIR" help:"The directory of the builds [~/.local/opt/agy-acp]."`
}

func (r agentRoot) root() (install.Root, error) {
	dir := r.Root
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return install.Root{}, errors.New("there is no home directory, and so no place for the agent; name one with --root")
		}
		dir = filepath.Join(home, ".local", "opt", "agy-acp")
	}
	dir, err := filepath.Abs(expandHome(dir))
	return install.At(dir), err
}

type agentInstall struct {
	agentRoot
	Archive  string `arg:"" optional:"" help:"A local archive (zip)."`
	From     string `placeholder:"FILE" xor:"source" help:"A local archive."`
	URL      string `name:"url" placeholder:"URL" xor:"source" help:"The archive's address."`
	Registry string `placeholder:"FILE|URL" xor:"source" help:"A registry's index, or the entry antigravity-acp alone, instead of the official one."`
	Build    string `placeholder:"NAME" help:"The build. From a registry it must be the one that the registry has; else it is the name to install under."`
	Platform string `placeholder:"OS-ARCH" help:"Another platform than this machine's, such as linux-aarch64."`
	SHA256   string `name:"sha256" placeholder:"HEX" help:"The archive's hash; another one is refused."`
	Force    bool   `help:"Replace a build that came from another archive."`
	NoUse    bool   `help:"Do not switch to it."`
	JSON     bool   `name:"json" help:"Print the record of the installation."`
}

// Help implements kong.HelpProvider.
func (agentInstall) Help() string {
	return "Without a source it takes what the ACP registry has now, and pins it: no later command asks the registry what that would be. " +
		"A download that is interrupted goes on with the same command.\n\n" +
		"  acp-shim agent install\n" +
		"  acp-shim agent install --url https://dl.google.com/.../agy-acp-server-1.2.1-linux-x86_64.zip\n" +
		"  acp-shim agent install --from server.zip --build 1.2.1 --sha256 9f86d0..."
}

func (c agentInstall) Run() error {
	root, err := c.root()
	if err != nil {
		return err
	}
	if c.Archive != "" && (c.From != "" || c.URL != "" || c.Registry != "") {
		return errors.New("there is an archive and --from, --url or --registry; name one source")
	}
	ctx, stop := untilGivenUp()
	defer stop()
	meter := newMeter(os.Stderr)
	in := install.New(root)
	in.Progress = meter.stage
	r, err := in.Install(ctx, install.Request{File: c.Archive + c.From, URL: c.URL, Registry: c.Registry, Build: c.Build,
		Platform: c.Platform, SHA256: c.SHA256, Force: c.Force, NoUse: c.NoUse})
	meter.end()
	if errors.Is(err, context.Canceled) {
		text := "interrupted; the same command goes on where it was"
		if strings.Contains(err.Error(), "goes on from there") {
			text = "interrupted; nothing was installed"
		}
		failed(errors.New(strings.Replace(err.Error(), context.Canceled.Error(), text, 1)))
		return exitCode(130)
	}
	var unreached *install.UnreachedError
	if errors.As(err, &unreached) {
		// Google's archives call it so (see install.ReadStamp).
		platform := strings.Replace(cmp.Or(c.Platform, install.Platform()), "aarch64", "arm64", 1)
		err = fmt.Errorf("%w; without a network: fetch agy-acp-server-BUILD-%s.zip on another machine, then acp-shim agent install FILE", err, platform)
	}
	if err != nil {
		return failed(err)
	}
	if !c.JSON {
		printInstalled(root, r)
	} else if err := printJSON(stdout, struct {
		*install.Manifest
		Dir     string `json:"dir"`
		Current bool   `json:"current"`
		Already bool   `json:"already"`
	}{r.Manifest, r.Dir, r.Current == r.Manifest.Build, r.Already}); err != nil {
		return err
	}
	if r.LinkError != nil {
		return failed(fmt.Errorf("the build is installed, and is not the one in use: %w", r.LinkError))
	}
	return nil
}

// printInstalled tells what was done.
func printInstalled(root install.Root, r *install.Result) {
	p, m := newPainter(stdout), r.Manifest
	say := func(name, format string, args ...any) {
		p.line(p.paint(bold, fmt.Sprintf("%-11s", name+":")) + shown(fmt.Sprintf(format, args...)))
	}
	if r.Already {
		say("already", "build %s is installed in %s, unchanged", m.Build, tilde(r.Dir))
	} else {
		say("installed", "build %s in %s, %s, %s", m.Build, tilde(r.Dir), show.Count(len(m.Files), "file"), install.Bytes(m.Size()))
	}
	say("from", "%s", tilde(m.Source.String()))
	if m.Source.Registry != "" && !r.Already {
		say("registry", "%s, version %s", tilde(m.Source.Registry), m.Source.Version)
	}
	if m.Archive.Checked {
		say("sha256", "%s, as it should be", m.Archive.SHA256)
	} else {
		say("sha256", "%s (upstream publishes none to compare it with; recorded, for agent verify and --sha256)", m.Archive.SHA256)
	}
	if len(r.Repaired) > 0 {
		say("repaired", "%s", driftCount(r.Repaired))
	}
	if !r.Harness {
		say("warning", "there is no localharness_external beside the server: it will open no session without one (or ANTIGRAVITY_HARNESS_PATH)")
	}
	switch {
	case r.LinkError != nil:
	case r.Current != m.Build:
		say("in use", "%s, as before; switch with acp-shim agent use %s", r.Current, m.Build)
	case r.Before != "" && r.Before != r.Current:
		say("in use", "%s, before it %s; back with acp-shim agent use %s", r.Current, r.Before, r.Before)
	default:
		say("in use", "%s", r.Current)
	}
	if list, err := root.Builds(); err == nil && r.LinkError == nil {
		if starts := whatStarts(list); starts.Build != r.Current {
			say("warning", "%s", starts.text(root))
		}
	}
	say("next", "acp-shim login, then acp-shim setup")
}

type agentUse struct {
	agentRoot
	Build string `arg:"" help:"The build."`
}

// Help implements kong.HelpProvider.
func (agentUse) Help() string {
	return "The link is switched at once; an agent that runs stays what it is until it is started again.\n\n  acp-shim agent use 1.2.1"
}

func (c agentUse) Run() error {
	root, err := c.root()
	if err != nil {
		return err
	}
	before := root.Current()
	b, err := root.Use(c.Build)
	if err != nil {
		return failed(err)
	}
	switch {
	case before == b.Name:
		fmt.Fprintln(stdout, shown("build "+b.Name+" was in use already"))
	case before == "":
		fmt.Fprintln(stdout, shown("build "+b.Name+" is in use"))
	default:
		fmt.Fprintln(stdout, shown(fmt.Sprintf("build %s is in use, before it %s; an agent that runs goes on with the old one", b.Name, before)))
	}
	if !b.Harness {
		fmt.Fprintln(stdout, "warning: there is no localharness_external beside its server: it will open no session")
	}
	return nil
}

type agentRemove struct {
	agentRoot
	Build string `arg:"" help:"The build."`
	Force bool   `help:"Also if it is in use, or runs."`
}

// Help implements kong.HelpProvider.
func (agentRemove) Help() string {
	return "The build in use, and one that runs, are kept unless --force is given.\n\n  acp-shim agent remove 1.1.1"
}

func (c agentRemove) Run() error {
	root, err := c.root()
	if err != nil {
		return err
	}
	b, err := root.Remove(c.Build, c.Force)
	if err != nil {
		return failed(err)
	}
	text := fmt.Sprintf("removed build %s (%s)", b.Name, install.Bytes(b.Size))
	if b.Current {
		text += "; no build is in use now"
	}
	fmt.Fprintln(stdout, shown(text))
	return nil
}

type agentVerify struct {
	agentRoot
	Build string `arg:"" optional:"" help:"The build; the one in use if none is named."`
	JSON  bool   `name:"json" help:"Print a JSON object a line: one for each file that differs, then the build."`
}

// Help implements kong.HelpProvider.
func (agentVerify) Help() string {
	return "The exit code is 1 where something differs.\n\n  acp-shim agent verify\n  acp-shim agent verify 1.2.1 --json"
}

func (c agentVerify) Run() error {
	root, err := c.root()
	if err != nil {
		return err
	}
	name := c.Build
	if name == "" {
		if name = root.Current(); name == "" {
			return failed(fmt.Errorf("no build is in use in %s; name one, or install one: acp-shim agent install", tilde(root.Path())))
		}
	}
	ctx, stop := untilGivenUp()
	defer stop()
	meter := newMeter(os.Stderr)
	m, list, err := root.Verify(ctx, name, func(done, all int64) {
		meter.stage(install.Stage{Name: "verify", Done: done, All: all})
	})
	meter.end()
	if errors.Is(err, context.Canceled) {
		failed(errors.New("interrupted; the build was not compared to its end"))
		return exitCode(130)
	}
	if err != nil {
		return failed(err)
	}
	out := bufio.NewWriter(stdout)
	defer out.Flush()
	for _, d := range list {
		if c.JSON {
			err = printJSON(out, d)
		} else {
			_, err = fmt.Fprintf(out, "%-8s %s %s\n", d.Kind, shown(d.Path), shown(d.Text))
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		err = printJSON(out, struct {
			Build  string `json:"build"`
			SHA256 string `json:"sha256"`
			Files  int    `json:"files"`
			Drift  int    `json:"drift"`
		}{m.Build, m.Archive.SHA256, len(m.Files), len(list)})
	} else if len(list) == 0 {
		_, err = fmt.Fprintf(out, "build %s: %s, %s, all as they were installed\n", shown(name), show.Count(len(m.Files), "file"), install.Bytes(m.Size()))
	} else {
		_, err = fmt.Fprintf(out, "build %s: %s; install it again: acp-shim agent install\n", shown(name), driftCount(list))
	}
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return exitCode(1)
	}
	return nil
}

// driftCount counts what differs, by its kinds.
func driftCount(list []install.Drift) string {
	n := map[string]int{}
	for _, d := range list {
		n[d.Kind]++
	}
	var parts []string
	for _, kind := range []string{"missing", "changed", "mode", "extra"} {
		if n[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[kind], kind))
		}
	}
	return strings.Join(parts, ", ")
}
