package rewrite

import (
	"bytes"

	"github.com/tidwall/gjson"

	"acp-shim/proxy"
)

var wordAlways = []byte(`"allow_always"`)

// permissionOrder puts the options that allow once before those that allow for
// good. Every other option keeps its place, and all keep their bytes.
func permissionOrder(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	if !bytes.Contains(m.Raw, wordAlways) {
		return
	}
	at, ok := m.At(m.Params, "options")
	if !ok {
		return
	}
	var slots []proxy.Span
	var once, always []string
	for _, x := range m.Elements(at) {
		kind, _ := m.At(x, "kind")
		switch m.String(kind) {
		case "allow_once":
			once = append(once, string(m.Text(x)))
		case "allow_always":
			always = append(always, string(m.Text(x)))
		default:
			continue
		}
		slots = append(slots, x)
	}
	var p patch
	for i, text := range append(once, always...) {
		p.put(slots[i], text)
	}
	p.apply(m)
}

// Mode is who answers permission requests.
type Mode string

const (
	// Ask lets the client answer.
	Ask Mode = "ask"
	// Allow allows, once where that is offered.
	Allow Mode = "allow"
	// Deny rejects, once where that is offered.
	Deny Mode = "deny"
)

// Permissions answers permission requests in the client's place.
type Permissions struct {
	proxy.Base
	kinds []string // the kinds of option to choose from, the best first
}

// NewPermissions makes the interceptor; with Ask, or a mode that is not known,
// it does nothing.
func NewPermissions(mode Mode) *Permissions {
	switch mode {
	case Allow:
		return &Permissions{kinds: []string{"allow_once", "allow_always"}}
	case Deny:
		return &Permissions{kinds: []string{"reject_once", "reject_always"}}
	}
	return &Permissions{}
}

// FromAgent answers session/request_permission.
func (p *Permissions) FromAgent(s *proxy.Step, m *proxy.Message) {
	if p.kinds == nil || m.Method != methodPermission || s.Asked() == nil {
		return
	}
	outcome, chosen := `{"outcome":{"outcome":"cancelled"}}`, "cancelled, since no option fits"
	if kind, id := p.choose(m); id != "" {
		outcome, chosen = `{"outcome":{"outcome":"selected","optionId":`+id+`}}`, kind
	}
	session := ""
	if s.Session() != nil {
		session = s.Session().ID()
	}
	s.Event(proxy.Event{Kind: "note", Agent: s.Agent().Gen(), Session: session, Text: "a permission request was answered in the client's place: " + chosen})
	s.Settle(s.Asked(), proxy.ResultBody(outcome), "answered by --permissions")
	s.Drop("answered by --permissions")
}

// choose is the kind and the id, as JSON text, of the option to take: the first
// of the best kind. A kind that nobody has heard of but begins alike is better
// than none.
func (p *Permissions) choose(m *proxy.Message) (kind, id string) {
	best := len(p.kinds) + 1
	prefix, _, _ := bytes.Cut([]byte(p.kinds[0]), []byte("_"))
	for _, x := range gjson.GetBytes(m.Text(m.Params), "options").Array() {
		k, option := x.Get("kind").Str, x.Get("optionId")
		if option.Type != gjson.String || !bytes.HasPrefix([]byte(k), prefix) {
			continue
		}
		rank := len(p.kinds)
		for i, known := range p.kinds {
			if k == known {
				rank = i
			}
		}
		if rank < best {
			best, kind, id = rank, k, option.Raw
		}
	}
	return kind, id
}
