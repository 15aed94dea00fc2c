package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"acp-shim/internal/editors"
)

// lookSelf finds the program as the user called it.
func lookSelf(arg0 string) (string, error) {
	if strings.ContainsRune(arg0, filepath.Separator) {
		return filepath.Abs(arg0)
	}
	path, err := exec.LookPath(arg0)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// setupJSON is a change as programs get it.
type setupJSON struct {
	Client  string   `json:"client"`
	File    string   `json:"file,omitempty"`
	Name    string   `json:"name,omitempty"`
	Before  []string `json:"before,omitempty"`
	Command []string `json:"command,omitempty"`
	Changes bool     `json:"changes"`
	Written bool     `json:"written"`
	Backup  string   `json:"backup,omitempty"`
	Diff    string   `json:"diff,omitempty"`
	Snippet string   `json:"snippet,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Check   string   `json:"check,omitempty"`
}

func newSetupJSON(p *editors.Plan) setupJSON {
	return setupJSON{Client: p.Client.Name, File: p.File, Name: p.Entry, Before: p.Was, Command: p.Now, Changes: p.Changes(),
		Diff: p.Diff(), Notes: p.Notes, Check: checkText(p.Client, p.Entry)}
}

// checkText says how to see that it works.
func checkText(c *editors.Client, name string) string {
	if c.Name == "acpx" {
		name = shellWord(name)
	}
	return strings.ReplaceAll(c.Check, "NAME", name)
}

// shellWord quotes a word for a shell, where it needs that.
func shellWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-~") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// again is the command that was given, with another flag.
func (c setupCmd) again(flag string) string {
	words := []string{"acp-shim", "setup", c.Client, flag}
	for _, o := range []struct{ name, value string }{{"--agent", c.Agent}, {"--name", c.Name}, {"--settings", c.Settings}} {
		if o.value != "" && (flag != "--undo" || o.name == "--settings") {
			words = append(words, o.name, shellWord(o.value))
		}
	}
	return strings.Join(words, " ")
}

// say prints a line with its name in front.
func (p *painter) say(name, text string) {
	p.line(p.paint(bold, fmt.Sprintf("%-9s", name+":")) + shown(text))
}

// show prints the change without making it.
func (c setupCmd) show(p *editors.Plan) error {
	if c.JSON {
		return printJSON(stdout, newSetupJSON(p))
	}
	out := newPainter(stdout)
	c.head(out, p)
	if !p.Changes() {
		out.say("done", "it uses the shim already; there is nothing to do")
		out.say("check", checkText(p.Client, p.Entry))
		return nil
	}
	out.line("")
	// What somebody has to put in by hand is no diff where there is nothing to differ from.
	whole := !p.Client.Writes && p.Before == nil
	text := p.Diff()
	if whole {
		text = string(p.After)
	}
	for line := range strings.Lines(text) {
		line = shownDiff(line)
		switch {
		case whole:
		case strings.HasPrefix(line, "+"):
			line = out.paint(green, line)
		case strings.HasPrefix(line, "-"):
			line = out.paint(red, line)
		case strings.HasPrefix(line, "@@"):
			line = out.paint(cyan, line)
		}
		out.line(line)
	}
	out.line("")
	for _, n := range p.Notes {
		out.say("note", n)
	}
	if p.Client.Writes {
		out.say("next", c.again("--write"))
	} else {
		out.say("next", "put this into "+tilde(p.File))
	}
	out.say("check", checkText(p.Client, p.Entry))
	return nil
}

// shownDiff is a line of a file as a terminal may have it; tabs are kept.
func shownDiff(line string) string {
	parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
	for i := range parts {
		parts[i] = shown(parts[i])
	}
	return strings.Join(parts, "\t")
}

func (c setupCmd) head(out *painter, p *editors.Plan) {
	file := tilde(p.File)
	if p.Before == nil {
		file += " (not there yet)"
	} else if p.Real != p.File && oneName(p.Real) != p.File {
		file += " -> " + tilde(p.Real)
	}
	out.say("file", file)
	switch {
	case p.Was != nil:
		out.say("agent", fmt.Sprintf("%q, which starts %s", p.Entry, commandText(p.Was)))
	default:
		out.say("agent", fmt.Sprintf("%q", p.Entry))
	}
}

// commandText is a command as one would type it.
func commandText(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, shellWord(tilde(w)))
	}
	return editors.Mask(strings.Join(list, " "))
}

func (c setupCmd) write(p *editors.Plan) error {
	var backup string
	if p.Changes() {
		var err error
		if backup, err = p.Write(); err != nil {
			return failed(err)
		}
	}
	if c.JSON {
		j := newSetupJSON(p)
		j.Written, j.Backup = p.Changes(), backup
		return printJSON(stdout, j)
	}
	out := newPainter(stdout)
	c.head(out, p)
	if !p.Changes() {
		out.say("done", "it uses the shim already; there was nothing to do")
		out.say("check", checkText(p.Client, p.Entry))
		return nil
	}
	out.say("written", "it starts "+commandText(p.Now)+" now")
	if backup != "" {
		out.say("backup", tilde(backup))
	}
	for _, n := range p.Notes {
		out.say("note", n)
	}
	out.say("undo", c.again("--undo"))
	out.say("check", checkText(p.Client, p.Entry))
	return nil
}

func (c setupCmd) undo(client *editors.Client, m editors.Machine) error {
	file := c.Settings
	if file != "" {
		file = expandHome(file)
	}
	u, err := client.Undo(m, file)
	nothing := errors.Is(err, editors.ErrNothing)
	if err != nil && !nothing {
		return failed(err)
	}
	if c.JSON {
		if nothing {
			u = &editors.Undone{}
		}
		return printJSON(stdout, struct {
			Client  string   `json:"client"`
			File    string   `json:"file,omitempty"`
			Undone  bool     `json:"undone"`
			Whole   bool     `json:"whole"`
			Removed bool     `json:"removed"`
			Names   []string `json:"names,omitempty"`
		}{client.Name, u.File, !nothing, u.Whole, u.Removed, u.Entries})
	}
	switch {
	case nothing:
		fmt.Fprintln(stdout, shown(err.Error()))
	case u.Removed:
		fmt.Fprintln(stdout, shown("removed "+tilde(u.File)+", which was not there before"))
	case u.Whole:
		fmt.Fprintln(stdout, shown(tilde(u.File)+" is again what it was, to the byte"))
	default:
		fmt.Fprintln(stdout, shown(fmt.Sprintf("%s was edited since: only the shim's own change was taken out of it (%s), the rest stays as it is now",
			tilde(u.File), strings.Join(u.Entries, ", "))))
	}
	return nil
}

// snippet prints what goes into a configuration that is a program.
func (c setupCmd) snippet(client *editors.Client, r editors.Request, text, where string) error {
	name := r.Name
	if name == "" {
		name = "antigravity"
	}
	check := checkText(client, name)
	if c.JSON {
		return printJSON(stdout, setupJSON{Client: client.Name, Name: name, Changes: true, Snippet: text, Check: check})
	}
	out := newPainter(stdout)
	out.say("to do", "put this "+where)
	out.line("")
	for line := range strings.Lines(text) {
		out.line(shownDiff(line))
	}
	out.line("")
	out.say("check", check)
	return nil
}
