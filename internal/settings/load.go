package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"acp-shim/internal/textfile"

	"github.com/tidwall/gjson"
	"github.com/tidwall/jsonc"
)

// Load reads the arguments of the drop-in agent, the environment and the config
// file. asAgent tells that the program was started under the agent's name: then
// all arguments are the agent's.
func Load(args []string, asAgent bool, getenv func(string) string) (*Settings, error) {
	flags := defaults()
	given := map[string]bool{}
	if asAgent {
		flags.AgentArgs = args
	} else if err := flags.parse(args, given); err != nil {
		return nil, err
	}
	s := defaults()
	s.Words, s.AgentArgs = flags.Words, flags.AgentArgs
	if err := s.file(flags, given, getenv); err != nil {
		return nil, err
	}
	for _, r := range Rows() {
		if r.Name == "config" {
			continue
		}
		v := getenv(r.Env())
		if v == "" {
			continue
		}
		field := r.at(s)
		if r.envAt != nil {
			field = r.envAt(s)
		}
		values := []string{v}
		if list, ok := field.(*[]string); ok {
			*list = nil
			values = split(v)
		}
		for _, v := range values {
			if err := r.set(field, v); err != nil {
				return nil, fmt.Errorf("the variable %s %w", r.Env(), err)
			}
		}
		s.says(r.Name, "variable "+r.Env())
	}
	for _, r := range Rows() {
		if given[r.Name] {
			copyField(r.at(s), r.at(flags))
			s.says(r.Name, "flag")
		}
	}
	return s, nil
}

// split takes a variable with several values apart, by lines or semicolons.
func split(v string) []string {
	var list []string
	for _, x := range strings.FieldsFunc(v, func(c rune) bool { return c == '\n' || c == ';' }) {
		if x = strings.TrimSpace(x); x != "" {
			list = append(list, x)
		}
	}
	return list
}

func copyField(to, from any) {
	switch t := to.(type) {
	case *[]string:
		*t = *from.(*[]string)
	case *bool:
		*t = *from.(*bool)
	case *int:
		*t = *from.(*int)
	case *string:
		*t = *from.(*string)
	default:
		copyDuration(to, from)
	}
}

// agyFlags are the agent's own flags; an unknown one is fatal to it.
func agyFlag(arg string) bool {
	switch arg {
	case "--debug", "--nodebug", "--notices", "--nonotices", "--uid":
		return true
	}
	return strings.HasPrefix(arg, "--uid=")
}

// parse reads flags up to "--". A single dash does as well as two.
func (s *Settings) parse(args []string, given map[string]bool) error {
	rows := Rows()
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			s.Words = args[i+1:]
			return nil
		}
		if agyFlag(arg) {
			s.AgentArgs = append(s.AgentArgs, arg)
			continue
		}
		if arg == "-v" {
			s.Verbose, given["verbose"] = true, true
			continue
		}
		if !strings.HasPrefix(arg, "-") {
			return fmt.Errorf("%q is no flag and no command of acp-shim; put the agent's command behind --, or see acp-shim help", arg)
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		row, off := find(rows, name)
		if row == nil {
			var names []string
			for _, r := range rows {
				names = append(names, r.Name)
			}
			// Not its value: a misspelt --bridge-token has a secret there.
			word, _, _ := strings.Cut(arg, "=")
			return fmt.Errorf("unknown flag %s%s; the agent's own flags go behind --, with its name; see acp-shim help run", word, meant(name, names, "--"))
		}
		if off {
			if hasValue {
				return fmt.Errorf("the flag --%s takes no value", name)
			}
			value = "off"
		} else if row.kind == flag && !hasValue {
			value = "on"
		} else if !hasValue {
			if i++; i >= len(args) || args[i] == "--" {
				return fmt.Errorf("the flag --%s needs a value: %s", name, row.Values())
			}
			value = args[i]
		}
		if err := row.set(row.at(s), value); err != nil {
			return fmt.Errorf("the flag --%s %w", name, err)
		}
		given[row.Name] = true
	}
	return nil
}

// find is the row of a flag's name; off tells of a no- before it.
func find(rows []Row, name string) (row *Row, off bool) {
	for i := range rows {
		if rows[i].Name == name {
			return &rows[i], false
		}
		if rows[i].kind == flag && name == "no-"+rows[i].Name {
			return &rows[i], true
		}
	}
	return nil, false
}

// ConfigPath is where the config file is looked for; empty where there is no
// place for it.
func ConfigPath(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "acp-shim", "config.json")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "acp-shim", "config.json")
	}
	if dir := getenv("APPDATA"); dir != "" {
		return filepath.Join(dir, "acp-shim", "config.json")
	}
	return ""
}

func (s *Settings) file(flags *Settings, given map[string]bool, getenv func(string) string) error {
	path, asked := flags.Config, given["config"]
	if !asked {
		path = getenv("ACP_SHIM_CONFIG")
		asked = path != ""
	}
	if !asked {
		path = ConfigPath(getenv)
	}
	if path == "" {
		return nil
	}
	b, err := textfile.ReadOwn(path)
	if err != nil {
		// A home that is no directory, as /dev/null is a service's, has none either.
		if !asked && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return nil
		}
		if !asked && errors.Is(err, fs.ErrPermission) {
			s.Unread = err
			return nil
		}
		return fmt.Errorf("reading the config file: %w", err)
	}
	s.Config, s.ConfigText = path, b
	if err := s.readFile(b); err != nil {
		return fmt.Errorf("the config file %s: %w", path, err)
	}
	return nil
}

// RulesOf is the member rules of a config file's text, nil if it has none.
func RulesOf(text []byte) ([]byte, error) {
	s := defaults()
	if err := s.readFile(text); err != nil {
		return nil, err
	}
	return s.Rules, nil
}

// readFile reads a config file. Comments are blanked out, so that offsets still
// tell the line.
func (s *Settings) readFile(text []byte) error {
	// Editors on Windows put a byte order mark in front.
	b := jsonc.ToJSON(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(strings.TrimSpace(string(b))) == 0 {
		return nil
	}
	if err := syntax(b); err != nil {
		return err
	}
	top := gjson.ParseBytes(b)
	if !top.IsObject() {
		return errors.New("line 1: it must be an object: {\"agent\": \"...\"}")
	}
	rows := Rows()
	names := []string{"rules"}
	for _, r := range rows {
		if r.Name != "config" {
			names = append(names, r.Name)
		}
	}
	seen := map[string]bool{}
	var err error
	top.ForEach(func(key, value gjson.Result) bool {
		name := key.Str
		line := 1 + strings.Count(string(b[:key.Index]), "\n")
		fail := func(format string, args ...any) bool {
			err = fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
			return false
		}
		if seen[name] {
			return fail("%q is set twice", name)
		}
		seen[name] = true
		switch name {
		case "rules":
			s.Rules = []byte(value.Raw)
			return true
		case "$schema": // an editor's, see Schema
			return true
		}
		s.says(name, "config file")
		row, off := find(rows, name)
		if row == nil || off || name == "config" {
			return fail("unknown key %q%s", name, meant(name, names, ""))
		}
		field := row.at(s)
		if row.fileAt != nil {
			field = row.fileAt(s)
		}
		values := []gjson.Result{value}
		if value.IsArray() {
			if row.kind != list {
				return fail("%q takes one value, not a list", name)
			}
			values = value.Array()
		}
		for _, v := range values {
			if v.IsObject() || v.IsArray() || v.Type == gjson.Null {
				return fail("%q takes %s", name, row.Values())
			}
			if e := row.set(field, v.String()); e != nil {
				return fail("%q %v", name, e)
			}
		}
		return true
	})
	return err
}
