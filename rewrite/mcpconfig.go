package rewrite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/jsonc"

	"acp-shim/internal/wire"
)

// parseMCPConfig reads a file of MCP servers as other programs have it, comments
// allowed: {"mcpServers": {name: {...}}}, or the list that ACP has, with or
// without the object around it. Its errors name a server and never a value.
func parseMCPConfig(text []byte) ([]server, error) {
	// Editors on Windows put a byte order mark in front.
	text = jsonc.ToJSON(bytes.TrimPrefix(text, []byte("\ufeff")))
	if !wire.Valid(text) {
		return nil, fmt.Errorf("it is no valid JSON")
	}
	all := gjson.ParseBytes(text)
	if all.IsObject() {
		all = all.Get("mcpServers")
		if !all.Exists() {
			return nil, fmt.Errorf(`it has no "mcpServers"`)
		}
	}
	var list []server
	var err error
	entry := func(name string, x gjson.Result) bool {
		s, disabled, e := configEntry(name, x)
		if e != nil {
			err = fmt.Errorf("the server %q: %w", name, e)
			return false
		}
		if !disabled {
			list = append(list, s)
		}
		return true
	}
	switch {
	case all.IsObject():
		all.ForEach(func(key, x gjson.Result) bool { return entry(key.Str, x) })
	case all.IsArray():
		all.ForEach(func(_, x gjson.Result) bool { return entry(x.Get("name").Str, x) })
	default:
		return nil, fmt.Errorf("the servers are %s, not an object or a list", kindOf(all))
	}
	return list, err
}

func configEntry(name string, x gjson.Result) (s server, disabled bool, err error) {
	if !x.IsObject() {
		return s, false, fmt.Errorf("its entry is %s, not an object", kindOf(x))
	}
	if name == "" {
		return s, false, fmt.Errorf("it has no name")
	}
	if x.Get("disabled").Bool() {
		return s, true, nil
	}
	s.name = name
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		if v := x.Get(key); v.Type == gjson.String && v.Str != "" {
			s.url = v.Str
		}
	}
	s.command = x.Get("command").Str
	kind := x.Get("type").Str
	if kind == "" {
		kind = x.Get("transport").Str
	}
	// The names that programs have for the transport that ACP calls http.
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(kind)) {
	case "stdio":
		s.kind = "stdio"
	case "http", "streamablehttp":
		s.kind = "http"
	case "sse":
		s.kind = "sse"
	case "":
		switch {
		case x.Get("httpUrl").Exists():
			s.kind = "http"
		case s.url != "":
			s.kind = typeByURL(s.url)
		default:
			s.kind = "stdio"
		}
	default:
		return s, false, fmt.Errorf("its type %q is not stdio, http or sse", kind)
	}
	if s.kind != "stdio" {
		if err := checkURL(s.url); err != nil {
			return s, false, err
		}
		s.headers, err = pairs("headers", x.Get("headers"))
		return s, false, err
	}
	if s.command == "" {
		return s, false, fmt.Errorf("it has neither a command nor a url")
	}
	args := x.Get("args")
	if args.Exists() && args.Type != gjson.Null && !args.IsArray() {
		return s, false, fmt.Errorf("its args are %s, not a list", kindOf(args))
	}
	if args.IsArray() {
		if json.Unmarshal([]byte(args.Raw), &s.args) != nil {
			return s, false, fmt.Errorf("its args are not all strings")
		}
	}
	s.env, err = pairs("env", x.Get("env"))
	return s, false, err
}

// pairs reads headers or variables, a map or a list of name and value.
func pairs(what string, x gjson.Result) (list []nameValue, err error) {
	put := func(name string, v gjson.Result) bool {
		switch {
		case name == "":
			err = fmt.Errorf("one of its %s has no name", what)
		case v.IsObject() || v.IsArray() || !v.Exists() || v.Type == gjson.Null:
			err = fmt.Errorf("in its %s, %q is %s, not a string", what, name, valueKind(v))
		default:
			list = append(list, nameValue{name, v.String()})
			if clean(v.String()) != nil && what == "headers" {
				err = fmt.Errorf("in its headers, %q has a line end in it", name)
			}
		}
		return err == nil
	}
	switch {
	case !x.Exists() || x.Type == gjson.Null:
	case x.IsObject():
		x.ForEach(func(key, v gjson.Result) bool { return put(key.Str, v) })
	case x.IsArray():
		x.ForEach(func(_, v gjson.Result) bool { return put(v.Get("name").Str, v.Get("value")) })
	default:
		err = fmt.Errorf("its %s are neither an object nor a list", what)
	}
	return list, err
}

func valueKind(v gjson.Result) string {
	if !v.Exists() {
		return "missing"
	}
	return kindOf(v)
}
