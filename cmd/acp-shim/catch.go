package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"acp-shim/internal/login"
	"acp-shim/rewrite"
)

// catchLogins has the login pages of the agent caught, where it is one that has
// them and the quirk is on.
func (c *chain) catchLogins(s *shim, path string) {
	if !c.rewriter.On("login-page") || !rewrite.GuessAgy(s.set.Profile, path) {
		return
	}
	catch, err := s.newCatch(nil)
	if err != nil {
		s.log.Warn("a login page that the agent opens is not seen here", "why", err.Error())
		return
	}
	c.catch = catch
	c.logins = login.NewWatch(catch, login.Alone(os.Getenv), func(p login.Page) {
		s.log.Warn("the agent waits for a login", "page", p.Bare(), "port", p.Port)
		fmt.Fprintln(os.Stderr, "acp-shim: "+p.Advice())
	}, func() { s.loop.Renew("the login has changed") }, func(err error) {
		s.log.Warn("a login page that the agent opens is not seen here", "why", err.Error())
	})
}

// newCatch makes what catches login pages, in the state directory where there is
// one.
func (s *shim) newCatch(told func(login.Page)) (*login.Catch, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir := ""
	if p := s.state.Path(); p != "" {
		dir = filepath.Join(p, "browser")
	}
	return login.New(dir, exe, s.run, told)
}

// loginEnv is what an agent needs in its environment for that.
func (c *chain) loginEnv() []string {
	if c.catch == nil {
		return nil
	}
	return c.catch.Env(os.Getenv)
}

// loginLine looks for a page in a line of the agent's stderr.
func (c *chain) loginLine(line []byte) {
	if c.catch != nil && bytes.Contains(line, []byte("://")) {
		c.catch.Line(line)
	}
}
