package main

import (
	"fmt"
	"os"
	"strings"

	"acp-shim/internal/settings"
	"acp-shim/internal/show"
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
		_, err := os.Stdout.Write(settings.Schema())
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
		return printJSON(os.Stdout, struct {
			File     string               `json:"file,omitempty"`
			Settings []settings.Effective `json:"settings"`
		}{set.Config, effective(set)})
	}
	t := newTables(os.Stdout)
	switch path := settings.ConfigPath(os.Getenv); {
	case set.Config != "":
		t.write("The config file is " + shown(set.Config))
	case path != "":
		t.write(shown(path) + " is not there: nothing is set by a config file")
	default:
		t.write("There is no place for a config file: HOME is not set")
	}
	if n := strings.Count(string(set.Rules), `"method"`); n > 0 {
		t.write("It has " + show.Count(n, "rule") + " of your own")
	}
	t.write("")
	for _, e := range effective(set) {
		line := fmt.Sprintf("%-20s %-30s %s", e.Name, show.Clip(shown(e.Value), 60), e.Source)
		if e.Source == "default" {
			line = t.paint(dim, line)
		}
		t.write(line)
	}
	return t.err
}

// effective is what is set, with the secrets within values, as of a URL, replaced.
func effective(set *settings.Settings) []settings.Effective {
	all := set.Effective()
	for i := range all {
		if all[i].Source != "default" {
			all[i].Value = string(record.RedactText([]byte(all[i].Value)))
		}
	}
	return all
}
