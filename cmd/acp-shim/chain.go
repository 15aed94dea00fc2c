package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"acp-shim/cancelshim"
	"acp-shim/internal/login"
	"acp-shim/internal/settings"
	"acp-shim/proxy"
	"acp-shim/rewrite"
	"acp-shim/usage"
)

// chain is the one ordered list of interceptors, the one nearest to the client
// first, and what else the profile decides.
type chain struct {
	list []proxy.Interceptor
	// policy is nil where nothing is to be decided: then the shim is a plain
	// relay from the first frame on.
	policy func(result []byte) proxy.Policy
	guess  proxy.Policy

	facts    *facts
	usage    *usage.Watch
	rewriter *rewrite.Rewriter
	injector *rewrite.Injector
	rules    *rewrite.Watcher
	login    loginWatch
	catch    *login.Catch // nil where no login page is to be caught
	logins   *login.Watch
}

// build makes the chain. The order, seen from the client:
//
//	permissions   answers the agent's requests last, so that what a cancel has
//	              settled is gone already
//	cancelshim    sees cancels as the client sent them, and turns as the quirks
//	              have cleaned them
//	logins        answers an authenticate whose page nobody can see
//	usage         counts what the agent has sent
//	injector      adds to what the client has sent
//	rewriter      nearest to the agent: quirks, then the user's own rules, also
//	              for what was injected
func (c *chain) build(s *shim) error {
	c.facts = newFacts(s.state, s.log)
	c.usage = usage.New(usage.Options{
		Latch: tokens{c.facts}, Turn: s.book,
		Normalise: func(exclusive bool) bool {
			return s.set.UsageNormalise == "on" || s.set.UsageNormalise == "auto" && exclusive
		},
	})
	rules, err := rewrite.ParseRules(s.set.Rules)
	if err != nil {
		return fmt.Errorf("the config file %s: rules: %w", s.set.Config, err)
	}
	c.rewriter, err = rewrite.New(rewrite.Options{Quirks: s.set.Quirks, Rules: rules, Learned: names{c.facts}, Home: os.Getenv("GEMINI_HOME")})
	if err != nil {
		return err
	}
	c.injector, err = rewrite.NewInjector(rewrite.InjectOptions{
		Bridge: s.set.Bridge, BridgeToken: s.set.BridgeToken,
		MCP: s.set.MCP, MCPHeaders: s.set.MCPHeaders, MCPStdio: s.set.MCPStdio,
		MCPConfig: expandHome(s.set.MCPConfig), Override: s.set.MCPOverride,
	})
	if err != nil {
		return err
	}
	path := ""
	if f, err := s.found(); err == nil {
		path = f.Path
	}
	c.catchLogins(s, path)
	c.list = []proxy.Interceptor{
		rewrite.NewPermissions(rewrite.Mode(s.set.Permissions)),
		cancelshim.New(cancelshim.Options{
			Mode: cancelshim.Mode(s.set.Cancel), Grace: s.set.Grace, Memory: cancels{c.facts},
			Stall: s.set.Stall, StallAction: cancelshim.StallAction(s.set.StallAction),
		}),
		c.usage,
		c.injector,
		c.rewriter,
	}
	if c.logins != nil {
		c.list = slices.Insert(c.list, 2, proxy.Interceptor(c.logins))
	}
	if s.set.Profile != "none" {
		c.policy = func(result []byte) proxy.Policy {
			p := c.rewriter.Policy(s.set.Profile, result)
			if p.Exclusive {
				go c.login.start(s)
			}
			return p
		}
		c.guess = c.rewriter.Guess(s.set.Profile, path)
	}
	c.facts.stamp = s.stamp
	c.watch(s)
	return nil
}

// watch follows the files that may change while the shim runs.
func (c *chain) watch(s *shim) {
	c.injector.Watch(func(err error) { s.log.Error("the MCP servers stay as they were", "error", err.Error()) })
	go s.sayIfSlow(c.injector.Slow)
	file := followed(s.set)
	if file == "" {
		return
	}
	c.rules = rewrite.Watch(file, s.set.ConfigText,
		func(text []byte) (*rewrite.Rules, error) {
			b, err := settings.RulesOf(text)
			if err != nil {
				return nil, err
			}
			return rewrite.ParseRules(b)
		},
		func(rules *rewrite.Rules) {
			c.rewriter.SetRules(rules)
			s.log.Info("the rules have been read again; other settings hold from the next start on")
		},
		func(err error) {
			s.log.Error("the rules stay as they were", "file", file, "error", err.Error())
		})
	go s.sayIfSlow(c.rules.Slow)
}

// followed is the config file whose rules are read again. One that is not there yet is
// followed where its directory is: to watch one above it, which others write to all the
// time, would wake the shim for nothing.
func followed(set *settings.Settings) string {
	if set.Config != "" || set.Unread != nil {
		return set.Config
	}
	path := settings.ConfigPath(os.Getenv)
	if info, err := os.Stat(filepath.Dir(path)); path == "" || err != nil || !info.IsDir() {
		return ""
	}
	return path
}

// sayIfSlow says once that files are not followed as they should be.
func (s *shim) sayIfSlow(slow func() error) {
	if err := slow(); err != nil {
		s.slow.Do(func() {
			s.log.Warn("changed files are noticed within seconds only, since the system has no watches left (see fs.inotify in sysctl)", "why", err.Error())
		})
	}
}

// close ends what follows files and writes them. It does not wait longer than a
// client would: a disk that does not answer must not hold up the end.
func (c *chain) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.login.stop()
		if c.catch != nil {
			c.catch.Close()
		}
		if c.rules != nil {
			c.rules.Close()
		}
		c.injector.Close()
		c.rewriter.Close()
		c.facts.wait()
	}()
	limit := time.NewTimer(closeWithin)
	defer limit.Stop()
	select {
	case <-closed:
	case <-limit.C:
	}
}

const closeWithin = time.Second

// noisy tells lines of the agent's stderr that are for nobody.
func (c *chain) noisy(line []byte) bool { return c.rewriter.Noise(line) }

// stampOf tells one file from another that calls itself by the same version.
func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" %d %d", info.Size(), info.ModTime().Unix())
}
