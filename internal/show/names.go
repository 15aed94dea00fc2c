package show

import "acp-shim/proxy"

// Names gives sessions short names that fit a column and are told apart. The zero
// Names is ready.
type Names struct {
	short map[string]string
	taken map[string]bool
}

// ShortName is how many cells a short name takes.
const ShortName = 8

// maxNames bounds the sessions that are remembered.
const maxNames = 1 << 16

// Short is the beginning of a session's id, or its end, after a sign, where another
// session begins alike: ids that contain a time do.
func (n *Names) Short(session string) string {
	if session == "" {
		return ""
	}
	if name, ok := n.short[session]; ok {
		return name
	}
	clean := []rune(Clean(session))
	name := string(clean)
	if len(clean) > ShortName {
		name = string(clean[:ShortName])
		if n.taken[name] {
			name = "…" + string(clean[len(clean)-ShortName+1:])
		}
	}
	if len(n.short) < maxNames {
		if n.short == nil {
			n.short, n.taken = map[string]string{}, map[string]bool{}
		}
		n.short[session], n.taken[name] = name, true
	}
	return name
}

// Peer is the name of a peer in a capture, "" for nobody.
func Peer(p proxy.Peer) string {
	switch {
	case p == proxy.Client:
		return "client"
	case p == proxy.Shim:
		return "shim"
	case p.Gen() > 0:
		return Agent(p.Gen())
	}
	return ""
}
