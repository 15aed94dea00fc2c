package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"acp-shim/cancelshim"
	"acp-shim/internal/state"
	"acp-shim/proxy"
	"acp-shim/rewrite"
	"acp-shim/usage"
)

// facts is what is known of builds of an agent, in memory where the loop asks
// for it, and in the state directory for later runs. What is written goes there
// from a goroutine: nothing waits for a disk under the loop's lock.
type facts struct {
	dir   *state.Dir
	log   *slog.Logger
	known map[string]map[string]json.RawMessage
	// stamp tells the file of the agent from another one of the same version.
	stamp string

	mu    sync.Mutex
	queue []func() error
	busy  bool
	idle  sync.Cond
}

func newFacts(dir *state.Dir, log *slog.Logger) *facts {
	f := &facts{dir: dir, log: log, known: map[string]map[string]json.RawMessage{}}
	for _, kind := range []string{factCancel, factUsage, factNames} {
		f.known[kind] = dir.Facts(kind)
	}
	f.idle.L = &f.mu
	return f
}

// The kinds of facts.
const (
	factCancel = "cancel"
	factUsage  = "usage"
	factNames  = "names"
)

// of fills v with what is known about a build.
func (f *facts) of(kind, build string, v any) bool {
	f.mu.Lock()
	b, ok := f.known[kind][build+f.stamp]
	f.mu.Unlock()
	return ok && json.Unmarshal(b, v) == nil
}

// learn keeps what was found out about a build.
func (f *facts) learn(kind, build string, v any) {
	key := build + f.stamp
	f.mu.Lock()
	if b, err := json.Marshal(v); err == nil {
		f.known[kind][key] = b
	}
	f.mu.Unlock()
	f.later(func() error {
		if err := f.dir.Learn(kind, key, v); err != nil {
			return fmt.Errorf("what was learned about this build could not be kept: %w", err)
		}
		return nil
	})
}

// later has something written, in order, by a goroutine that ends when there is
// nothing more to write.
func (f *facts) later(write func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, write)
	if f.busy {
		return
	}
	f.busy = true
	go f.write()
}

func (f *facts) write() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 {
		next := f.queue[0]
		f.queue = f.queue[1:]
		f.mu.Unlock()
		if err := next(); err != nil {
			f.log.Warn("the state directory could not be written", "error", err.Error())
		}
		f.mu.Lock()
	}
	f.busy = false
	f.idle.Broadcast()
}

// wait waits until everything is written.
func (f *facts) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.busy {
		f.idle.Wait()
	}
}

// cancels is cancelshim's memory.
type cancels struct{ facts *facts }

func (c cancels) count(a *proxy.Agent) (n cancelshim.Count) {
	c.facts.of(factCancel, cancelshim.Build(a), &n)
	return n
}

func (c cancels) Ignores(a *proxy.Agent) bool { return c.count(a).Known() }

func (c cancels) Note(a *proxy.Agent, honoured bool) {
	n := c.count(a)
	if now := n.Noted(honoured); now != n {
		c.facts.learn(factCancel, cancelshim.Build(a), now)
	}
}

// tokens is usage's latch.
type tokens struct{ facts *facts }

func (t tokens) Latched(build string) (first usage.First, ok bool) {
	ok = t.facts.of(factUsage, build, &first)
	return first, ok
}

func (t tokens) Latch(build string, first usage.First) { t.facts.learn(factUsage, build, first) }

// names is what rewrite's oracle has learned.
type names struct{ facts *facts }

func (n names) Load(build string) []rewrite.Rename {
	var list []rewrite.Rename
	n.facts.of(factNames, build, &list)
	return list
}

func (n names) Save(build string, r rewrite.Rename) {
	n.facts.learn(factNames, build, append(n.Load(build), r))
}
