package main

import (
	"strings"

	"github.com/alecthomas/kong"
	"github.com/posener/complete"

	"acp-shim/internal/editors"
	"acp-shim/internal/login"
	"acp-shim/internal/probe"
	"acp-shim/rewrite"
)

// knownValues are the values of a command's argument ("setup") or flag
// ("probe --gate") that are known only when somebody asks for them.
func knownValues() map[string]func() []string {
	return map[string]func() []string{
		"setup": func() (list []string) {
			for _, c := range editors.Clients() {
				list = append(list, c.Name)
			}
			return list
		},
		"login": func() (list []string) {
			for _, m := range login.Methods() {
				list = append(list, m.ID)
			}
			return list
		},
		"probe --gate": func() (list []string) {
			for _, g := range probe.Gates() {
				list = append(list, g.ID)
			}
			return list
		},
		"agent use": installedBuilds, "agent remove": installedBuilds, "agent verify": installedBuilds,
		"sessions list": rememberedIDs, "sessions list --forget": rememberedIDs, "sessions repair": rememberedIDs,
	}
}

// predictKnown predicts known values, nil where there are none.
func predictKnown(what string) complete.Predictor {
	values, ok := knownValues()[what]
	if !ok {
		return nil
	}
	return complete.PredictFunc(func(complete.Args) []string { return values() })
}

// commandWords is a command as it is typed, without the program's name.
func commandWords(node *kong.Node) string {
	if node.Parent == nil {
		return ""
	}
	return strings.TrimSpace(commandWords(node.Parent) + " " + node.Name)
}

// simBuilds are the builds that can be simulated, as demo has them.
func simBuilds(app *kong.Node) []string {
	for _, c := range app.Children {
		for _, f := range c.Flags {
			if c.Name == "demo" && f.Name == "build" {
				return strings.Split(f.Enum, ",")
			}
		}
	}
	return nil
}

func installedBuilds() (names []string) {
	root, err := agentRoot{}.root()
	if err != nil {
		return nil
	}
	list, _ := root.Builds()
	for _, b := range list {
		names = append(names, b.Name)
	}
	return names
}

func rememberedIDs() (ids []string) {
	dir, err := sessionsWhere{}.stateDir()
	if err != nil {
		return nil
	}
	list, _ := sessionsWhere{}.entries(dir)
	for _, e := range list {
		if shown(e.ID) == e.ID && !strings.ContainsAny(e.ID, " \t'\"\\$`") {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// predictQuirk predicts NAME=on and NAME=off. What is typed is parted at the last =.
func predictQuirk(a complete.Args) (list []string) {
	for _, q := range rewrite.Quirks() {
		if q.Name == a.LastCompleted {
			return []string{"on", "off"}
		}
		list = append(list, q.Name+"=on", q.Name+"=off")
	}
	return list
}

// predictSwitch predicts what comes behind the = of a quirk.
func predictSwitch(a complete.Args) []string {
	if list := predictQuirk(a); len(list) == 2 {
		return list
	}
	return nil
}

// behindDoubleDash tells that the word that is being typed is another program's. Those
// behind config's are settings of ours.
func behindDoubleDash(line string) bool {
	words := strings.Fields(line)
	if n := len(words); n > 0 && !strings.HasSuffix(line, " ") {
		words = words[:n-1]
	}
	if len(words) > 1 && words[1] == "config" {
		return false
	}
	for _, w := range words {
		if w == "--" {
			return true
		}
	}
	return false
}
