package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"acp-shim/internal/agent"
	"acp-shim/internal/install"
	"acp-shim/internal/settings"
)

type agentList struct {
	agentRoot
	JSON bool `name:"json" help:"Print a JSON object a line: the builds, then what the shim would start."`
}

// Help implements kong.HelpProvider.
func (agentList) Help() string {
	return "Below the builds it says which agent the shim would start, which may be one that is elsewhere.\n\n  acp-shim agent list\n  acp-shim agent list --json"
}

// buildJSON is a build as programs get it.
type buildJSON struct {
	Kind      string         `json:"kind"`
	Build     string         `json:"build"`
	Dir       string         `json:"dir"`
	Current   bool           `json:"current"`
	Size      int64          `json:"size"`
	Installed time.Time      `json:"installed"`
	SHA256    string         `json:"sha256,omitempty"`
	Source    install.Source `json:"source"`
	Harness   bool           `json:"harness"`
	Problem   string         `json:"problem,omitempty"`
}

// startsJSON is what the shim would start.
type startsJSON struct {
	Kind   string   `json:"kind"`
	Path   string   `json:"path,omitempty"`
	Source string   `json:"source,omitempty"`
	Build  string   `json:"build,omitempty"`
	Tried  []string `json:"tried,omitempty"`
	Error  string   `json:"error,omitempty"`
}

func (c agentList) Run() error {
	root, err := c.root()
	if err != nil {
		return err
	}
	list, err := root.Builds()
	if err != nil {
		return failed(err)
	}
	starts := whatStarts(list)
	if c.JSON {
		for _, b := range list {
			if err := printJSON(stdout, newBuildJSON(b)); err != nil {
				return err
			}
		}
		return printJSON(stdout, starts)
	}
	if len(list) == 0 {
		fmt.Fprintln(stdout, shown("no build is installed in "+tilde(root.Path())+"; install one: acp-shim agent install"))
	} else if err := printBuilds(stdout, list, time.Now()); err != nil {
		return err
	}
	for _, b := range list {
		if b.Problem != "" {
			fmt.Fprintln(stdout, shown(fmt.Sprintf("build %s: %s", b.Name, b.Problem)))
		}
		if b.Server == "" {
			fmt.Fprintln(stdout, shown(fmt.Sprintf("build %s has no server for this system", b.Name)))
		} else if !b.Harness {
			fmt.Fprintln(stdout, shown(fmt.Sprintf("build %s has no localharness_external beside its server", b.Name)))
		}
	}
	fmt.Fprintln(stdout, shown(starts.text(root)))
	return nil
}

func newBuildJSON(b install.Build) buildJSON {
	j := buildJSON{Kind: "build", Build: b.Name, Dir: b.Dir, Current: b.Current, Size: b.Size, Installed: b.When.UTC(),
		SHA256: b.SHA256, Harness: b.Harness, Problem: b.Problem}
	if b.Manifest != nil {
		j.Source = b.Manifest.Source
	}
	return j
}

func printBuilds(w io.Writer, list []install.Build, now time.Time) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "BUILD\tIN USE\tSIZE\tINSTALLED\tSHA256\tFROM")
	for _, b := range list {
		use, hash, from := "-", "-", "-"
		if b.Current {
			use = "yes"
		}
		if b.SHA256 != "" {
			hash = b.SHA256[:12]
		}
		if b.Manifest != nil && b.Manifest.Source.String() != "" {
			from = shown(tilde(b.Manifest.Source.String()))
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", shown(b.Name), use, install.Bytes(b.Size), ago(now.Sub(b.When)), hash, from)
	}
	return out.Flush()
}

// whatStarts is the agent that a run without further settings would find.
func whatStarts(list []install.Build) startsJSON {
	s := startsJSON{Kind: "starts"}
	set, err := settings.Load(nil, false, os.Getenv)
	if err != nil {
		s.Error = err.Error()
		return s
	}
	found, err := findAgent(set)
	var none *agent.NotFoundError
	switch {
	case errors.As(err, &none):
		s.Error, s.Tried = "no agent was found", none.Tried
		return s
	case err != nil:
		s.Error = err.Error()
		return s
	}
	s.Path, s.Source = found.Path, found.Source
	s.Build = buildOf(list, found)
	return s
}

// buildOf is the build that an agent is of, "" if of none.
func buildOf(list []install.Build, found agent.Found) string {
	for _, b := range list {
		dir := oneName(b.Dir)
		if strings.HasPrefix(found.Path, dir+string(filepath.Separator)) {
			return b.Name
		}
	}
	return ""
}

func (s startsJSON) text(root install.Root) string {
	current := root.Current()
	byPath := filepath.Join(root.Path(), "current", "agy_acp_server.par")
	switch {
	case s.Tried != nil && current != "":
		return "the shim does not look in " + tilde(root.Path()) + " by itself; name its agent: ACP_SHIM_AGENT=" + shellWord(byPath)
	case s.Error != "":
		return "the shim would start nothing: " + s.Error
	case s.Build != "" && s.Build == current:
		return fmt.Sprintf("the shim starts build %s (found by %s)", s.Build, s.Source)
	case s.Build != "":
		return fmt.Sprintf("the shim starts build %s (found by %s), which is not the one in use", s.Build, s.Source)
	case current != "":
		return fmt.Sprintf("the shim starts another agent, which it finds first: %s (found by %s)", tilde(s.Path), s.Source)
	}
	return fmt.Sprintf("the shim starts %s (found by %s)", tilde(s.Path), s.Source)
}
