package rewrite

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/proxy"
)

// AgyName is agentInfo.name of the Antigravity server.
const AgyName = "antigravity-acp"

// PolicyFor decides, from the text of the agent's result of initialize, how its
// processes are used and whether the quirks are for it. profile is agy, none, or
// auto, which goes by the name that the agent gives itself.
func PolicyFor(profile string, result []byte) (proxy.Policy, bool) {
	agy := profile == "agy"
	if profile == "auto" || profile == "" {
		agy = gjson.GetBytes(result, "agentInfo.name").Str == AgyName
	}
	if !agy {
		return proxy.Policy{}, false
	}
	// session/close is not advertised and answers {}; see the seed.
	return proxy.Policy{Exclusive: true, DropNoise: true, Close: true, RepeatAuth: repeatAuth}, true
}

// repeatAuth: these need nobody at a browser.
func repeatAuth(method string) bool { return method == "gemini-api-key" || method == "agent-platform" }

// GuessAgy decides by the agent's file before the agent has said anything.
func GuessAgy(profile, path string) bool {
	switch profile {
	case "agy":
		return true
	case "auto", "":
		return strings.HasPrefix(filepath.Base(filepath.ToSlash(path)), "agy_acp_server")
	}
	return false
}

// Policy is PolicyFor, and tells the Rewriter what came of it. It is the
// Policy of a connection's proxy.Options.
func (r *Rewriter) Policy(profile string, result []byte) proxy.Policy {
	p, agy := PolicyFor(profile, result)
	r.SetProfile(agy)
	if b := gjson.GetBytes(result, "agentInfo.version").Str; agy && b != "" {
		r.renamesOf(b) // begins to read what is kept of it
	}
	p.DropNoise = p.DropNoise && r.on["noise"]
	if agy && r.on["bricked"] {
		p.Advise = r.advise
	}
	return p
}

// Guess is the policy by the agent's file, for before initialize is answered.
func (r *Rewriter) Guess(profile, path string) proxy.Policy {
	agy := GuessAgy(profile, path)
	r.SetProfile(agy)
	return proxy.Policy{DropNoise: agy && r.on["noise"]}
}

// On tells whether the quirk with this name is switched on.
func (r *Rewriter) On(quirk string) bool { return r.on[quirk] }

// StderrNoise tells the lines of the server's stderr that are for nobody: dumps
// of its socket to the harness, megabytes at a time. A line may be cut; its
// first piece is enough.
func StderrNoise(line []byte) bool { return bytes.HasPrefix(line, rawWS) }

var rawWS = []byte("RAW WS MSG:")

// Noise is StderrNoise where the quirk raw-ws is on and the profile is agy.
func (r *Rewriter) Noise(line []byte) bool {
	return r.on["raw-ws"] && r.agy.Load() && StderrNoise(line)
}
