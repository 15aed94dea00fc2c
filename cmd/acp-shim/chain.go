package main

import (
	"acp-shim/cancelshim"
	"acp-shim/proxy"
	"acp-shim/usage"
)

// chain is the one ordered list of interceptors, the one nearest to the client
// first, and what else the profile decides.
type chain struct {
	list  []proxy.Interceptor
	guess proxy.Policy
	noise func(line []byte) bool
	usage *usage.Watch
	facts *facts
}

func (c *chain) build(s *shim) error {
	c.facts = newFacts(s.state, s.log)
	c.usage = usage.New(tokens{c.facts})
	c.list = []proxy.Interceptor{
		cancelshim.New(cancelshim.Options{Mode: cancelshim.Mode(s.set.Cancel), Grace: s.set.Grace, Memory: cancels{c.facts}}),
		c.usage,
	}
	return nil
}

func (c *chain) policy(result []byte) proxy.Policy {
	return proxy.Policy{Exclusive: true, DropNoise: true, Close: true}
}

func (c *chain) attach(*proxy.Loop) {}
func (c *chain) close()             { c.facts.wait() }

// noisy tells lines of stderr that are for nobody.
func (c *chain) noisy(line []byte) bool { return c.noise != nil && c.noise(line) }
