package rewrite

import (
	"sync/atomic"

	"acp-shim/proxy"
)

// Rename is something the oracle has learned of a build: what a member is
// called.
type Rename struct {
	Method string `json:"method"`
	// In is the path of the object that the member is in, "" for params itself;
	// "*" is every element of a list.
	In   string `json:"in,omitempty"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Learned keeps what was learned, by build. Its methods are called from
// goroutines of the Rewriter's, never under the loop's lock, and may block.
type Learned interface {
	Load(build string) []Rename
	Save(build string, r Rename)
}

// learnedLimit bounds what is believed of a build.
const learnedLimit = 64

// renames are what is known of one build. What is kept arrives a moment later:
// until then the oracle finds it out again.
type renames struct {
	loaded atomic.Pointer[[]Rename]
	list   []Rename
}

// renamesOf is what is known of the agent's build.
func (r *Rewriter) renamesOf(b string) *renames {
	known := r.renames[b]
	if known != nil {
		if more := known.loaded.Swap(nil); more != nil {
			for _, x := range *more {
				known.add(x)
			}
		}
		return known
	}
	known = &renames{}
	r.renames[b] = known
	if r.learned != nil {
		r.renaming.Go(func() {
			list := r.learned.Load(b)
			known.loaded.Store(&list)
		})
	}
	return known
}

func (k *renames) add(x Rename) bool {
	if len(k.list) >= learnedLimit || x.From == x.To || x.To == "" {
		return false
	}
	for _, y := range k.list {
		if x == y {
			return false
		}
	}
	k.list = append(k.list, x)
	return true
}

// applyLearned renames up front what the oracle has found out before.
func (r *Rewriter) applyLearned(s *proxy.Step, m *proxy.Message) {
	if m.Method == methodPrompt {
		return
	}
	b := build(s)
	if b == "" {
		return // before initialize is answered
	}
	for _, x := range r.renamesOf(b).list {
		if x.Method != m.Method {
			continue
		}
		in := path{}
		if x.In != "" {
			var err error
			if in, err = parsePath(x.In); err != nil {
				continue
			}
		}
		var p patch
		for _, at := range in.find(m, m.Params) {
			list := m.Members(at)
			if key, ok := member(list, x.From); ok && !has(list, x.To) {
				p.rename(key, x.To)
			}
		}
		p.apply(m)
	}
}

// learn keeps what a request was sent once more with, now that the agent took it.
func (r *Rewriter) learn(s *proxy.Step) {
	fixes, ok := s.Request().Marked(markResent).([]Rename)
	if !ok {
		return
	}
	b := build(s)
	known := r.renamesOf(b)
	for _, x := range fixes {
		if !known.add(x) {
			continue
		}
		info(s, "learned what this build calls a field", "build", b, "method", x.Method, "in", x.In, "from", x.From, "to", x.To)
		if r.learned != nil && b != "" {
			r.renaming.Go(func() { r.learned.Save(b, x) })
		}
	}
}
