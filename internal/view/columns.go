package view

import (
	"encoding/binary"
	"math"
)

// none is the number of no row.
const none = -1

// line is a row of the page.
type line struct {
	t, took                            float64 // nanoseconds
	seq, bytes                         uint32
	method, update, session, gist, why uint32 // strings
	from, to                           int32  // peers; see agents
	partner, held                      int32  // rows
	block                              uint32
	flags, run                         uint16
	kind                               uint8
}

// columns are the rows, by column.
type columns struct{ rows []line }

func (c *columns) n() int { return len(c.rows) }

func (c *columns) add(l line) { c.rows = append(c.rows, l) }

// column says how one is found in the bytes of all.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"` // a name of JavaScript's typed arrays
	At   int    `json:"at"`
}

// pack puts the columns behind each other, the wide ones first, so that each
// begins at a multiple of its width.
func (c *columns) pack() (list []column, b []byte) {
	put := func(name, kind string, each func(*line)) {
		list = append(list, column{name, kind, len(b)})
		for i := range c.rows {
			each(&c.rows[i])
		}
	}
	le := binary.LittleEndian
	f64 := func(name string, of func(*line) float64) {
		put(name, "Float64Array", func(l *line) { b = le.AppendUint64(b, math.Float64bits(of(l))) })
	}
	u32 := func(name string, of func(*line) uint32) {
		put(name, "Uint32Array", func(l *line) { b = le.AppendUint32(b, of(l)) })
	}
	i32 := func(name string, of func(*line) int32) {
		put(name, "Int32Array", func(l *line) { b = le.AppendUint32(b, uint32(of(l))) })
	}
	u16 := func(name string, of func(*line) uint16) {
		put(name, "Uint16Array", func(l *line) { b = le.AppendUint16(b, of(l)) })
	}
	f64("t", func(l *line) float64 { return l.t })
	f64("took", func(l *line) float64 { return l.took })
	u32("seq", func(l *line) uint32 { return l.seq })
	u32("bytes", func(l *line) uint32 { return l.bytes })
	u32("method", func(l *line) uint32 { return l.method })
	u32("update", func(l *line) uint32 { return l.update })
	u32("session", func(l *line) uint32 { return l.session })
	u32("gist", func(l *line) uint32 { return l.gist })
	u32("why", func(l *line) uint32 { return l.why })
	u32("block", func(l *line) uint32 { return l.block })
	i32("from", func(l *line) int32 { return l.from })
	i32("to", func(l *line) int32 { return l.to })
	i32("partner", func(l *line) int32 { return l.partner })
	i32("held", func(l *line) int32 { return l.held })
	u16("flags", func(l *line) uint16 { return l.flags })
	u16("run", func(l *line) uint16 { return l.run })
	put("kind", "Uint8Array", func(l *line) { b = append(b, l.kind) })
	return list, b
}

// texts gives numbers to strings; that of "" is 0.
type texts struct {
	list  []string
	known map[string]uint32
}

func (s *texts) id(text string) uint32 {
	if s.known == nil {
		s.list, s.known = []string{""}, map[string]uint32{"": 0}
	}
	n, ok := s.known[text]
	if !ok {
		n = uint32(len(s.list))
		s.list = append(s.list, text)
		s.known[text] = n
	}
	return n
}

func (s *texts) all() []string {
	s.id("")
	return s.list
}
