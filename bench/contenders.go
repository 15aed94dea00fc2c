package main

import (
	"fmt"
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
	// slow ones get fewer frames.
	slow bool
	// other is somebody else's program, which may give up.
	other bool
}

// The names of those that others are compared with.
const (
	floor     = "floor"
	plain     = "acp-shim, a plain relay"
	equal     = "floor again"
	asUsed    = "acp-shim, agy, recording"
	conductor = "conductor (Node)"
)

// setting is where the programs of a run are and live.
type setting struct {
	self, shim, dir string
	peers           bool // those of npm
}

func (s setting) env(more ...string) []string {
	// Apart from what is written meanwhile: the shim follows its config file, and while
	// there is none the directory that it would be in.
	home := filepath.Join(s.dir, "home")
	return append(append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME="+filepath.Join(home, "config")), more...)
}

func (s setting) under(name string, argv ...string) contender {
	return contender{name: name, argv: append(argv, s.self, "__agent"), env: s.env()}
}

// shims are the shim as it is used, and with each of its parts off.
func (s setting) shims() []contender {
	n := 0
	record := func() string {
		n++
		return "--record=" + filepath.Join(s.dir, fmt.Sprint("capture", n, ".jsonl"))
	}
	return []contender{
		s.under(asUsed, s.shim, "--profile=agy", record(), "--"),
		s.under("acp-shim, agy, recording raw", s.shim, "--profile=agy", "--record-raw", record(), "--"),
		s.under("acp-shim, agy", s.shim, "--profile=agy", "--"),
		s.under("acp-shim, recording", s.shim, "--profile=none", record(), "--"),
		s.under(plain, s.shim, "--profile=none", "--"),
	}
}

// contenders are the programs under comparison, the floor first.
func (s setting) contenders() []contender {
	list := []contender{s.under(floor, s.self, "__floor"), s.under(equal, s.self, "__floor"), s.under("floor, pipes of 256 KiB", s.self, "__large")}
	list = append(list, s.shims()...)
	list = append(list, s.under("io.Copy and os/exec", s.self, "__copy"), s.under("a line at a time, encoding/json", s.self, "__lines"))
	sdk := s.under("acp-go-sdk, two connections", s.self, "__sdk")
	sdk.slow, sdk.other = true, true
	list = append(list, sdk)
	agent := s.self + " __agent"
	if _, err := exec.LookPath("tee"); err == nil {
		script := "tee " + filepath.Join(s.dir, "in") + " | " + agent + " | tee " + filepath.Join(s.dir, "out")
		list = append(list, contender{name: "tee both ways", argv: []string{"sh", "-c", script}, env: s.env()})
	}
	if _, err := exec.LookPath("cat"); err == nil {
		list = append(list, contender{name: "cat both ways", argv: []string{"sh", "-c", "cat | " + agent + " | cat"}, env: s.env()})
	}
	if _, err := exec.LookPath("socat"); err == nil {
		list = append(list, contender{name: "socat", argv: []string{"socat", "-", "EXEC:" + agent}, env: s.env()})
	}
	return append(list, s.ofNode()...)
}

// ofNode are the peers that run in Node, where it and the conductor are.
func (s setting) ofNode() []contender {
	node, err := exec.LookPath("node")
	if err != nil || !s.peers {
		return nil
	}
	list := []contender{s.under("a line at a time, in Node", node, "peers/lines.mjs")}
	if _, err := os.Stat("peers/node_modules/@thinkwell/conductor"); err == nil {
		list = append(list, s.under(conductor, node, "peers/conductor.mjs"))
	}
	for i := range list {
		list[i].slow, list[i].other = true, true
	}
	return list
}

// installPeers gets the peers that npm has, and reports whether they are there.
func installPeers() error {
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("npm is not there")
	}
	if _, err := os.Stat("peers/node_modules/@thinkwell/conductor"); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = "peers"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %v: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
