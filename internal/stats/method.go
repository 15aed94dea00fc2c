package stats

import (
	"cmp"
	"maps"
	"slices"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
)

// Method is the figures of one method, or of one kind of update, as one side used
// it.
type Method struct {
	Method string
	// Update is the kind of update, "" for another method.
	Update string
	// From is who sent it: client, agent or shim.
	From string
	// Request tells that it wants an answer.
	Request bool
	Count   int64
	// Errors counts the answers that were one.
	Errors int64
	// Took is the times to the answers that came. It is nobody's for a
	// notification.
	Took Quantile
}

// Open is how many had no answer.
func (m *Method) Open() int64 {
	if !m.Request {
		return 0
	}
	return max(m.Count-m.Took.N(), 0)
}

type methodKey struct{ method, update, from string }

// methods are those that are known. Their names are the peers', so they are not
// more than so many.
type methods map[methodKey]*Method

const (
	maxMethods = 500
	// otherMethods stands for those that came when it was full.
	otherMethods = "(other methods)"
)

// side is the kind of a peer.
func side(p proxy.Peer) string {
	switch {
	case p == proxy.Client:
		return "client"
	case p == proxy.Shim:
		return "shim"
	case p.Gen() > 0:
		return "agent"
	}
	return "nobody"
}

func (ms *methods) of(method, update string, from proxy.Peer) *Method {
	if *ms == nil {
		*ms = methods{}
	}
	key := methodKey{method, update, side(from)}
	m := (*ms)[key]
	if m == nil && len(*ms) >= maxMethods {
		key.method, key.update = otherMethods, ""
		m = (*ms)[key]
	}
	if m == nil {
		m = &Method{Method: key.method, Update: key.update, From: key.from}
		(*ms)[key] = m
	}
	return m
}

func (ms *methods) add(r *trace.Record) {
	switch r.Kind {
	case trace.Request, trace.Notification:
		if r.Again {
			return
		}
		m := ms.of(r.Method, r.Update, r.From)
		m.Count++
		m.Request = m.Request || r.Kind == trace.Request
	case trace.Response:
		// What was swallowed is not what the client waited for.
		if r.Request == nil || !r.Delivered() && r.Request.From != proxy.Shim {
			return
		}
		m := ms.of(r.Request.Method, "", r.Request.From)
		m.Took.Add(r.Took)
		if r.Failed {
			m.Errors++
		}
	}
}

func (ms *methods) list() []*Method {
	return slices.SortedFunc(maps.Values(*ms), func(a, b *Method) int {
		if a.Request != b.Request {
			if a.Request {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Update, b.Update), cmp.Compare(a.From, b.From))
	})
}
