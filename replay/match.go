package replay

import (
	acp "github.com/coder/acp-go-sdk"
)

// place is where blocks are looked for: by the session that they are about, where
// they name one, and their method.
type place struct {
	session string
	method  string
}

// anywhere is the session of a place for those of all sessions.
const anywhere = "\x00"

// group are the blocks of a place, in the recorded order.
type group struct {
	blocks []int32
	like   map[likeness][]int32
	wild   []int32
}

// likeness is what blocks have in common that are equal.
type likeness struct {
	key
	moved bool
	conn  int32 // anyConn for those of all connections
}

const anyConn = -1

func (g *group) add(b *block, conn int32) {
	g.blocks = append(g.blocks, b.index)
	for _, on := range [...]int32{conn, anyConn} {
		for _, k := range [...]likeness{{b.plain, false, on}, {b.moved, true, on}} {
			g.like[k] = append(g.like[k], b.index)
		}
	}
	if b.wild {
		g.wild = append(g.wild, b.index)
	}
}

// named is the session that a block's request names.
func (b *block) named() string {
	if b.method == acp.AgentMethodSessionNew {
		return nowhere
	}
	return b.session
}

// file puts the blocks where they are looked for.
func (s *Script) file() {
	for _, b := range s.blocks {
		// There is nothing to be waited for where nothing more is said.
		for len(b.steps) > 0 && b.steps[len(b.steps)-1].kind.waits() {
			b.steps = b.steps[:len(b.steps)-1]
		}
		if b.method == prelude || b.guess != nil {
			continue
		}
		conn := s.items.at(b.trigger).conn
		s.group(place{b.named(), b.method}).add(b, conn)
		all := place{anywhere, b.method}
		if s.index[all] == nil && b.method != notMessage {
			s.methods = append(s.methods, b.method)
		}
		s.group(all).add(b, conn)
	}
}

func (s *Script) group(p place) *group {
	g := s.index[p]
	if g == nil {
		g = &group{like: map[likeness][]int32{}}
		s.index[p] = g
	}
	return g
}

// ask is an incoming frame that looks for its block.
type ask struct {
	method  string
	session string // as recorded; nowhere for none
	params  []byte
	cwd     string // of the client's session
	conn    int32  // whose block was played last, see find
	request bool
}

// ledger remembers what was played, in a session or outside of all.
type ledger struct {
	used    map[int32]bool
	cursors map[cursor]int
}

// cursor is a list of blocks.
type cursor struct {
	place
	likeness
}

func newLedger() ledger { return ledger{map[int32]bool{}, map[cursor]int{}} }

// next is the first of a list that was not played yet. Lists are long where a
// client repeats itself; the cursor keeps one from being walked again and again.
func (l *ledger) next(c cursor, list []int32) int32 {
	n := l.cursors[c]
	for n < len(list) && l.used[list[n]] {
		n++
	}
	l.cursors[c] = n
	if n == len(list) {
		return -1
	}
	return list[n]
}

// find finds the block that a frame is like: the first that was not played yet,
// or else the last one. Where several connections were recorded, of several runs
// or of several processes, those of the one that was played last come first.
func (s *Script) find(l *ledger, a ask) (*block, error) {
	if s.oneSided {
		return s.guessed(l, a), nil
	}
	p := place{a.session, a.method}
	if opensSession(a.method) && !s.sessions[a.session] {
		p.session = anywhere // the client has a name of its own for it
	}
	g := s.index[p]
	if g == nil {
		return nil, nil
	}
	plain, moved := keys(a.method, a.params, a.cwd)
	equal := [...]likeness{{plain, false, a.conn}, {moved, true, a.conn}, {plain, false, anyConn}, {moved, true, anyConn}}
	for _, k := range equal {
		if i := l.next(cursor{p, k}, g.like[k]); i >= 0 {
			return s.blocks[i], nil
		}
	}
	last := int32(-1)
	unmoved := a
	unmoved.cwd = ""
	// As with the keys, the directory itself comes before any that takes its place:
	// it may be all that tells two sessions apart.
	for _, a := range [...]ask{unmoved, a} {
		for _, i := range g.wild {
			switch same, err := s.same(s.blocks[i], a); {
			case err != nil:
				return nil, err
			case same && !l.used[i]:
				return s.blocks[i], nil
			case same:
				last = i
			}
		}
	}
	for _, k := range equal {
		if list := g.like[k]; len(list) > 0 {
			last = list[len(list)-1]
			break
		}
	}
	if last >= 0 {
		return s.blocks[last], nil
	}
	return nil, nil
}

// findLenient is content with the method, in the frame's session or in any.
func (s *Script) findLenient(l *ledger, a ask) *block {
	for _, session := range [...]string{a.session, anywhere} {
		p := place{session, a.method}
		g := s.index[p]
		if g == nil {
			continue
		}
		if i := l.next(cursor{p, likeness{conn: anyConn}}, g.blocks); i >= 0 {
			return s.blocks[i]
		}
		return s.blocks[g.blocks[len(g.blocks)-1]]
	}
	return nil
}

// same compares params one by one, for a block that has marks in them.
func (s *Script) same(b *block, a ask) (bool, error) {
	recorded, err := s.params(b)
	if err != nil {
		return false, err
	}
	return len(s.compare(b, recorded, a, 1)) == 0, nil
}
