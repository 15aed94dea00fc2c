package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// contender is one program between client and agent.
type contender struct {
	name string
	argv []string
	env  []string
}

// contenders are the programs under comparison, the floor first.
func contenders(self, shim, dir string) []contender {
	env := append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	agent := []string{self, "__agent"}
	under := func(name string, argv ...string) contender {
		return contender{name, append(argv, agent...), env}
	}
	list := []contender{
		under("floor", self, "__floor"),
		under("floor again", self, "__floor"),
		under("acp-shim, rules, recording", shim, "--profile=agy", "--record="+filepath.Join(dir, "a.jsonl"), "--"),
		under("acp-shim, rules, recording raw", shim, "--profile=agy", "--record-raw", "--record="+filepath.Join(dir, "b.jsonl"), "--"),
		under("acp-shim, rules", shim, "--profile=agy", "--"),
		under("acp-shim, no rules", shim, "--profile=none", "--"),
		under("io.Copy and os/exec", self, "__copy"),
		under("a line at a time, encoding/json", self, "__lines"),
	}
	if _, err := exec.LookPath("tee"); err == nil {
		script := "tee " + filepath.Join(dir, "in") + " | " + strings.Join(agent, " ") + " | tee " + filepath.Join(dir, "out")
		list = append(list, contender{"tee both ways", []string{"sh", "-c", script}, env})
	}
	return list
}
