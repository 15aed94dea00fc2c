package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/tidwall/gjson"

	"acp-shim/internal/settings"
	"acp-shim/internal/show"
	"acp-shim/internal/state"
	"acp-shim/record"
)

// configCmd says what is set.
type configCmd struct {
	Schema bool     `help:"Print the JSON schema of the config file, for an editor."`
	JSON   bool     `name:"json" help:"Print a JSON object."`
	Flags  []string `arg:"" optional:"" passthrough:"" help:"Flags of acp-shim run, to see what they come to."`
}

// Help is what the flags do not say.
func (configCmd) Help() string {
	return `What acp-shim would run with here: flags, then ACP_SHIM_ variables, then the config file, then defaults.

  acp-shim config                              the settings, and who has set them
  acp-shim config -- --profile=none            the same with flags
  acp-shim config --schema >~/.config/acp-shim/schema.json
                                               for "$schema": "./schema.json" in the config file`
}

func (c configCmd) Run() error {
	if c.Schema {
		_, err := stdout.Write(settings.Schema())
		return err
	}
	flags := c.Flags
	if len(flags) > 0 && flags[0] == "--" {
		flags = flags[1:]
	}
	set, err := settings.Load(flags, false, os.Getenv)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(stdout, struct {
			File     string               `json:"file,omitempty"`
			Settings []settings.Effective `json:"settings"`
		}{set.Config, effective(set)})
	}
	t := newTables(stdout)
	switch path := settings.ConfigPath(os.Getenv); {
	case set.Config != "":
		t.write("The config file is " + shown(tilde(set.Config)))
	case set.Unread != nil:
		t.write("The config file is not used, since it cannot be read: " + shown(set.Unread.Error()))
	case path != "":
		t.write(shown(tilde(path)) + " is not there: nothing is set by a config file")
	default:
		t.write("There is no place for a config file: HOME is not set")
	}
	if n := len(gjson.ParseBytes(set.Rules).Array()); n > 0 {
		t.write("It has " + show.Count(n, "rule") + " of your own")
	}
	t.write("")
	list := effective(set)
	// What somebody has set stands first.
	slices.SortStableFunc(list, func(a, b settings.Effective) int {
		switch {
		case byDefault(a) == byDefault(b):
			return 0
		case byDefault(b):
			return -1
		}
		return 1
	})
	width := 0
	for i := range list {
		list[i].Value = show.Clip(shown(tilde(list[i].Value)), 60)
		width = max(width, show.Width(list[i].Value))
	}
	for _, e := range list {
		line := fmt.Sprintf("%-18s  %s  %s", e.Name, show.Pad(e.Value, width), e.Source)
		if byDefault(e) {
			line = t.paint(dim, line)
		}
		t.write(line)
	}
	return t.err
}

// effective is what is set, with the secrets within values, as of a URL, replaced, and
// what the places come to that are looked for.
func effective(set *settings.Settings) []settings.Effective {
	all := set.Effective()
	for i := range all {
		if !byDefault(all[i]) {
			all[i].Value = string(record.RedactText([]byte(all[i].Value)))
			continue
		}
		s := &shim{set: set}
		path := s.statePath()
		switch all[i].Name {
		case "agent":
			all[i].Value = "none found"
			if found, err := findAgent(set); err == nil {
				all[i].Value = found.Path
			}
		case "state-dir":
			all[i].Value = cmp.Or(path, all[i].Value)
		case "log-file":
			s.state = state.At(path)
			all[i].Value = cmp.Or(s.logOptions().File, all[i].Value)
		case "config":
			all[i].Value = cmp.Or(settings.ConfigPath(os.Getenv), all[i].Value)
		}
	}
	return all
}

// byDefault tells that nobody has set it.
func byDefault(e settings.Effective) bool { return e.Source == "default" }
