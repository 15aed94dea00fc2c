package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/jsonc"

	"acp-shim/internal/doctor"
	"acp-shim/internal/settings"
	"acp-shim/rewrite"
)

// doctorResult is what programs get.
type doctorResult struct {
	Version  string           `json:"version"`
	OS       string           `json:"os"`
	Arch     string           `json:"arch"`
	At       time.Time        `json:"at"`
	Problems int              `json:"problems"`
	Warnings int              `json:"warnings"`
	Fixable  int              `json:"fixable"`
	Findings []doctor.Finding `json:"findings"`
}

func newDoctorResult(all []doctor.Finding) doctorResult {
	r := doctorResult{Version: version(), OS: runtime.GOOS, Arch: runtime.GOARCH, At: time.Now().UTC().Truncate(time.Second), Findings: all}
	for _, f := range all {
		switch {
		case f.Fixed:
		case f.Level == doctor.Problem:
			r.Problems++
		case f.Level == doctor.Warning:
			r.Warnings++
		}
		if f.Fixable() && f.FixError == "" {
			r.Fixable++
		}
	}
	return r
}

func (r doctorResult) print(w io.Writer) error { return printPretty(w, r) }

// doctorServers are the MCP servers that the settings inject, by name and address.
// What is wrong with them the injector says, as it does at a start.
func doctorServers(set *settings.Settings) ([]doctor.Server, error) {
	file := expandHome(set.MCPConfig)
	// The injector waits for who writes into a FIFO.
	if info, err := os.Stat(file); file != "" && err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("--mcp-config %s: it is no file", file)
	}
	in, err := rewrite.NewInjector(rewrite.InjectOptions{
		Bridge: set.Bridge, BridgeToken: set.BridgeToken, MCP: set.MCP, MCPHeaders: set.MCPHeaders, MCPStdio: set.MCPStdio,
		MCPConfig: file, Override: set.MCPOverride,
	})
	if err != nil {
		return nil, err
	}
	in.Close()
	var list []doctor.Server
	if set.Bridge != "" {
		list = append(list, doctor.Server{Name: rewrite.BridgeName, URL: set.Bridge})
	}
	for _, x := range set.MCP {
		name, url, _ := strings.Cut(x, "=")
		list = append(list, doctor.Server{Name: name, URL: url})
	}
	for _, x := range set.MCPStdio {
		name, command, _ := strings.Cut(x, "=")
		if words := strings.Fields(command); len(words) > 0 {
			command = strings.Trim(words[0], `"'`)
		}
		list = append(list, doctor.Server{Name: name, Command: command})
	}
	if file != "" {
		list = append(list, fileServers(file)...)
	}
	return list, nil
}

// fileServers are those of a file that the injector takes.
func fileServers(path string) (list []doctor.Server) {
	b, err := readSmall(path)
	if err != nil {
		return nil
	}
	all := gjson.ParseBytes(jsonc.ToJSON([]byte(strings.TrimPrefix(string(b), "\ufeff"))))
	if all.IsObject() {
		all = all.Get("mcpServers")
	}
	all.ForEach(func(key, x gjson.Result) bool {
		s := doctor.Server{Name: x.Get("name").Str, Command: x.Get("command").Str}
		if all.IsObject() {
			s.Name = key.Str
		}
		for _, name := range []string{"url", "serverUrl", "httpUrl"} {
			if u := x.Get(name).Str; u != "" {
				s.URL = u
			}
		}
		if !x.Get("disabled").Bool() {
			list = append(list, s)
		}
		return true
	})
	return list
}
