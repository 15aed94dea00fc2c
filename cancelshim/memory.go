package cancelshim

import (
	"acp-shim/proxy"
)

// Memory remembers which builds of an agent ignore a cancel. Its methods run
// under the loop's lock and must not block.
type Memory interface {
	// Ignores tells that this build is known to ignore a cancel.
	Ignores(a *proxy.Agent) bool
	// Note takes the outcome of one more cancel.
	Note(a *proxy.Agent, honoured bool)
}

// ignoredTwice is how often a build must have been seen to ignore a cancel,
// while it went on to talk and ran no tool, to be known for it. One cancel that
// was honoured clears it.
const ignoredTwice = 2

// Count is what is known of one build.
type Count struct {
	Ignored int `json:"ignored"`
}

// Noted is the count after one more outcome.
func (n Count) Noted(honoured bool) Count {
	if honoured {
		return Count{}
	}
	return Count{Ignored: min(n.Ignored+1, ignoredTwice)}
}

// Known tells that the count is enough to go by.
func (n Count) Known() bool { return n.Ignored >= ignoredTwice }

// Build names the build of an agent by what it says of itself.
func Build(a *proxy.Agent) string {
	name, version := a.Build()
	return name + " " + version
}

// volatile is a Memory for one run.
type volatile struct{ counts map[string]Count }

func (v *volatile) Ignores(a *proxy.Agent) bool { return v.counts[Build(a)].Known() }

func (v *volatile) Note(a *proxy.Agent, honoured bool) {
	if v.counts == nil {
		v.counts = map[string]Count{}
	}
	v.counts[Build(a)] = v.counts[Build(a)].Noted(honoured)
}
