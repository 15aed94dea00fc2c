package rewrite

import (
	"bytes"
	"sort"
	"strings"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// piece replaces the bytes of a frame from at to end by text.
type piece struct {
	at, end int
	text    string
}

// patch is a list of pieces that are applied all or none, and with one copy of
// the frame however many there are: a list of servers may be long.
type patch []piece

func (p *patch) put(s proxy.Span, text string) { *p = append(*p, piece{s.Off, s.End, text}) }

func (p *patch) insert(at int, text string) { *p = append(*p, piece{at, at, text}) }

func (p *patch) rename(x wire.Member, to string) { p.put(x.Key, wire.Quote(to)) }

// add puts members behind the last one of the object at s, whose members are
// list; texts are `"name":value`.
func (p *patch) add(s proxy.Span, list []wire.Member, texts ...string) {
	if len(texts) == 0 {
		return
	}
	text := strings.Join(texts, ",")
	if len(list) == 0 {
		p.insert(s.Off+1, text)
		return
	}
	p.insert(list[len(list)-1].Value.End, ","+text)
}

// apply changes the frame, and reports whether it did. Only the bytes from the
// first piece to the last are touched.
func (p patch) apply(m *proxy.Message) bool {
	if len(p) == 0 {
		return false
	}
	sort.SliceStable(p, func(i, j int) bool { return p[i].at < p[j].at })
	from, at := p[0].at, p[0].at
	var b strings.Builder
	for _, x := range p {
		if x.at < at || x.end < x.at || x.end > len(m.Raw) {
			return false // two of them are about the same bytes
		}
		b.Write(m.Raw[at:x.at])
		b.WriteString(x.text)
		at = x.end
	}
	return m.Splice(from, at-from, b.String())
}

// whole is the span of the frame's object.
func whole(m *proxy.Message) proxy.Span {
	return proxy.Span{Off: bytes.IndexByte(m.Raw, '{'), End: len(m.Raw)}
}

// member finds one of an object's members by name; false where it is missing or
// given twice.
func member(list []wire.Member, name string) (wire.Member, bool) {
	var found wire.Member
	n := 0
	for _, x := range list {
		if x.Name == name {
			found, n = x, n+1
		}
	}
	return found, n == 1
}

// has tells that a name is there, however often.
func has(list []wire.Member, name string) bool {
	for _, x := range list {
		if x.Name == name {
			return true
		}
	}
	return false
}

func isNull(m *proxy.Message, s proxy.Span) bool { return string(m.Text(s)) == "null" }

// opens tells that the value at s begins with c.
func opens(m *proxy.Message, s proxy.Span, c byte) bool { return s.Found() && m.Raw[s.Off] == c }
