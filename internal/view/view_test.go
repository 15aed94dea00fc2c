package view

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"acp-shim/fixtures"
	"acp-shim/internal/trace"
	"acp-shim/record"
)

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{"name":"agy"}}`

// readBack is a page that was read back.
type readBack struct {
	text    string
	head    head
	cols    map[string][]float64
	details []detail
}

var element = regexp.MustCompile(`<script type="application/octet-stream" id="(\w+)">([A-Za-z0-9+/=]*)</script>\n`)

func inflated(t *testing.T, text string) []byte {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// page makes a page and reads it back.
func page(t *testing.T, capture io.Reader, w Window) *readBack {
	t.Helper()
	p, err := New(w)
	if err != nil {
		t.Fatal(err)
	}
	name := p.spool.file.Name()
	p.Title = "<b>title</b>"
	damaged := 0
	for r, err := range trace.Read(record.Read(capture)) {
		if err != nil {
			damaged++
			continue
		}
		if err := p.Add(r); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	p.Damaged(damaged)
	var out bytes.Buffer
	n, err := p.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		t.Fatalf("%d bytes of %d: %v", n, out.Len(), err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the frames were left in %s: %v", name, err)
	}
	m := &readBack{text: out.String(), cols: map[string][]float64{}}
	var packed []byte
	for _, e := range element.FindAllStringSubmatch(m.text, -1) {
		b := inflated(t, e[2])
		switch {
		case e[1] == "head":
			err = json.Unmarshal(b, &m.head)
		case e[1] == "cols":
			packed = b
		default:
			var list []detail
			if e[1] != fmt.Sprint("b", countBlocks(m)) {
				t.Errorf("a block %s at row %d", e[1], len(m.details))
			}
			err = json.Unmarshal(b, &list)
			m.details = append(m.details, list...)
		}
		if err != nil {
			t.Fatalf("%s: %v", e[1], err)
		}
	}
	if len(m.details) != m.head.Rows {
		t.Errorf("%d details of %d rows", len(m.details), m.head.Rows)
	}
	m.unpack(packed)
	return m
}

// countBlocks is the number of the block that begins behind the details so far.
func countBlocks(m *readBack) int {
	for n, first := range m.head.Blocks {
		if first == len(m.details) {
			return n
		}
	}
	return -1
}

func (m *readBack) unpack(b []byte) {
	le := binary.LittleEndian
	for _, c := range m.head.Columns {
		for i := range m.head.Rows {
			var v float64
			switch c.Type {
			case "Float64Array":
				v = math.Float64frombits(le.Uint64(b[c.At+8*i:]))
			case "Uint32Array":
				v = float64(le.Uint32(b[c.At+4*i:]))
			case "Int32Array":
				v = float64(int32(le.Uint32(b[c.At+4*i:])))
			case "Uint16Array":
				v = float64(le.Uint16(b[c.At+2*i:]))
			case "Uint8Array":
				v = float64(b[c.At+i])
			}
			m.cols[c.Name] = append(m.cols[c.Name], v)
		}
	}
}

func (m *readBack) str(col string, row int) string { return m.head.Strings[int(m.cols[col][row])] }

// row is the row of a seq.
func (m *readBack) row(seq int) int {
	for i, s := range m.cols["seq"] {
		if int(s) == seq {
			return i
		}
	}
	return none
}

func demo(t *testing.T) []byte {
	t.Helper()
	b, err := fixtures.Captures.ReadFile("captures/demo-1.3.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lines(lines ...string) io.Reader {
	return strings.NewReader(strings.Join(append([]string{header}, lines...), "\n") + "\n")
}

// TestDemo holds what the page is told against what the capture of the demo is
// known to say.
func TestDemo(t *testing.T) {
	m := page(t, bytes.NewReader(demo(t)), Window{})
	if m.head.Rows != 66 || len(m.head.Agents) != 3 || m.head.Lanes != 3 || m.head.Damaged != 0 || m.head.Full {
		t.Errorf("%d rows, %+v", m.head.Rows, m.head.Agents)
	}
	if a := m.head.Agents[0]; a.Name != "agent#1" || a.First != m.row(2) || a.Last != m.row(30) {
		t.Errorf("the first agent lives %+v", a)
	}
	// The client's initialize is held (1), released (3) and answered (5).
	for _, c := range []struct {
		col      string
		seq, row int
	}{{"held", 1, 3}, {"held", 3, 1}, {"partner", 1, 5}, {"partner", 3, 5}, {"partner", 5, 1}, {"partner", 21, 31}, {"partner", 31, 21}} {
		if got := int(m.cols[c.col][m.row(c.seq)]); got != m.row(c.row) {
			t.Errorf("%s of %d is row %d, not that of %d", c.col, c.seq, got, c.row)
		}
	}
	flag := func(seq, want int) {
		if got := int(m.cols["flags"][m.row(seq)]); got != want {
			t.Errorf("the flags of %d are %b, not %b", seq, got, want)
		}
	}
	flag(1, lost|held)
	flag(3, again)
	flag(11, changed)
	flag(16, chunk)
	flag(29, made)
	flag(39, lost|replayed|chunk)
	if d := m.details[m.row(11)]; !strings.Contains(d.Before, `"configOptionId":`) || !strings.Contains(d.Body, `"configId":`) ||
		len(d.Edits) != 1 || d.Edits[0].Old != `"configOptionId"` || !d.JSON {
		t.Errorf("%+v", d)
	}
	if g := m.str("gist", m.row(15)); !strings.Contains(g, "pi-bridge_bridge_echo") || m.str("update", m.row(15)) != "tool_call_update" {
		t.Errorf("the gist of a tool's update is %q", g)
	}
	if u := m.head.Usage; len(u[0]) != 3 || int(u[0][0]) != m.row(19) || u[1][0] != 64 || u[2][0] != 1<<20 {
		t.Errorf("usage %v", u)
	}
	var kinds []string
	for _, s := range m.head.Spans {
		kinds = append(kinds, s.Kind)
		switch {
		case s.To <= s.From || s.Open:
			t.Errorf("%+v does not last", s)
		case s.Kind == "restore" && (s.Row != m.row(34) || s.Status != "opened by session/load"):
			t.Errorf("%+v", s)
		case s.Kind == "tool" && (s.Row != m.row(14) || s.Label != "pi-bridge_bridge_echo" || s.Status != "completed"):
			t.Errorf("%+v", s)
		}
	}
	if got := strings.Join(kinds, " "); got != "turn tool turn turn restore turn" {
		t.Errorf("the spans are %s", got)
	}
	if got := m.head.Spans[0]; got.First != m.cols["t"][m.row(16)] || got.Label == "prompt" || got.Status != "end_turn" {
		t.Errorf("the first turn is %+v", got)
	}
}

// TestHostile has text that tries to leave its place, in every field that is the
// peers'.
func TestHostile(t *testing.T) {
	evil := `</script><script>canary=1</script><!--<img src=x onerror=canary=1>\u2028\u2029\u001b[31m\u0000\u202e`
	quoted := func(s string) string { return `"` + s + `"` }
	big := strings.Repeat("lorem </script> ", 5<<20/16)
	m := page(t, lines(
		`{"seq":1,"t":1000,"from":"client","to":"agent#1","frame":{"id":`+quoted(evil)+`,"method":`+quoted(evil)+`,"params":{"sessionId":`+quoted(evil)+`,"x":`+quoted(evil)+`}}}`,
		`{"seq":2,"t":2000,"from":"agent#1","to":"client","frame":{"id":`+quoted(evil)+`,"error":{"code":1,"message":`+quoted(evil)+`}},"why":`+quoted(evil)+`}`,
		`{"seq":3,"t":3000,"event":`+quoted(evil)+`,"agent":"agent#1","session":`+quoted(evil)+`,"text":`+quoted(evil)+`,"data":{"a":`+quoted(evil)+`}}`,
		`{"seq":4,"t":4000,"from":"agent#1","to":"client","text":`+quoted(evil)+`}`,
		`{"seq":5,"t":5000,"from":"agent#1","to":"client","base64":"/zwvc2NyaXB0Pv8="}`,
		`{"seq":6,"t":6000,"from":"agent#1","to":"client","frame":{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`+big+`"}}}}}`,
	), Window{})
	// Without the data, the page has its own elements and no other.
	rest := element.ReplaceAllString(m.text, "")
	for _, sign := range []string{"canary", "<!--<", "\u2028", "\x1b", "\u202e", "onerror", "lorem"} {
		if strings.Contains(rest, sign) {
			t.Errorf("%q got into the page", sign)
		}
	}
	if n := strings.Count(m.text, "</script>"); n != 2+1+len(m.head.Blocks) {
		t.Errorf("%d elements end, with %d blocks", n, len(m.head.Blocks))
	}
	if m.head.Rows != 6 || len(m.details[5].Body) < 5<<20 || !m.details[5].JSON || m.details[5].Size != 0 {
		t.Errorf("of the large frame %d bytes are here", len(m.details[5].Body))
	}
	if got := m.details[4].Body; got != `\xff</script>\xff`+"\n" {
		t.Errorf("a line that is no UTF-8 is %q", got)
	}
	if g := m.str("gist", 1); strings.ContainsAny(g, "\x1b\x00\u2028\u202e") || !strings.Contains(g, `\x1b`) {
		t.Errorf("the gist is %q", g)
	}
	if int(m.cols["partner"][1]) != 0 {
		t.Error("the answer does not lead to its request")
	}
	if len(m.str("gist", 5)) > gistLimit+8 {
		t.Errorf("the gist of the large frame has %d bytes", len(m.str("gist", 5)))
	}
}

func TestHugeFrame(t *testing.T) {
	m := page(t, lines(`{"seq":1,"t":1000,"from":"agent#1","to":"client","frame":{"method":"x","params":"`+strings.Repeat("é", maxBody/2+10)+`"}}`), Window{})
	if d := m.details[0]; d.JSON || d.Size < maxBody || len(d.Body) > maxBody+8 || m.head.Cut != 1 {
		t.Errorf("%d bytes of %d are here, %d cut", len(d.Body), d.Size, m.head.Cut)
	}
}

// TestPolicy holds the policy against what is in the page: the one script and the
// one style, by their hashes, and nothing from elsewhere.
func TestPolicy(t *testing.T) {
	m := page(t, bytes.NewReader(demo(t)), Window{})
	find := func(pattern string) string {
		t.Helper()
		x := regexp.MustCompile(pattern).FindAllStringSubmatch(m.text, -1)
		if len(x) != 1 {
			t.Fatalf("%q is there %d times", pattern, len(x))
		}
		return x[0][1]
	}
	policy := find(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	script, style := find(`(?s)<script>(.*?)</script>`), find(`(?s)<style>(.*?)</style>`)
	want := []string{"default-src 'none'", "script-src " + hash(script), "style-src " + hash(style), "base-uri 'none'", "form-action 'none'",
		"require-trusted-types-for 'script'", "trusted-types 'none'"}
	if policy != strings.Join(want, "; ") {
		t.Errorf("the policy is %s", policy)
	}
	if strings.Contains(m.text[:strings.Index(m.text, policy)], "<script") {
		t.Error("a script comes before the policy")
	}
	own := element.ReplaceAllString(m.text, "")
	for _, pattern := range []string{`(?i)\bhttps?:`, `(?i)@import`, `(?i)url\(`, `(?i)<link`, `(?i)\b(src|href|srcset|style|on\w+)=["']`, `(?i)(inner|outer)HTML|insertAdjacent|document\.write|\beval\(|new Function|setAttribute\('(style|on|href|src)`} {
		if at := regexp.MustCompile(pattern).FindString(own); at != "" {
			t.Errorf("the page has %q", at)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		w                    Window
		rows, first, outside int
		full                 bool
	}{
		{Window{From: 10, To: 19}, 10, 10, 56, false},
		{Window{Max: 20}, 20, 1, 0, true},
		{Window{Max: 66}, 66, 1, 0, false},
		{Window{From: 60, Max: 3}, 3, 60, 59, true},
	} {
		m := page(t, bytes.NewReader(demo(t)), c.w)
		if m.head.Rows != c.rows || int(m.cols["seq"][0]) != c.first || m.head.Outside != c.outside || m.head.Full != c.full {
			t.Errorf("%+v: %d rows from %v, %d outside, full %v", c.w, m.head.Rows, m.cols["seq"][0], m.head.Outside, m.head.Full)
		}
	}
	// An answer of which the request is not here has no partner, but a time.
	m := page(t, bytes.NewReader(demo(t)), Window{From: 20, To: 20})
	if m.cols["partner"][0] != none || m.cols["took"][0] == 0 || len(m.head.Spans) != 1 || m.head.Spans[0].Row != none {
		t.Errorf("partner %v, took %v, spans %+v", m.cols["partner"][0], m.cols["took"][0], m.head.Spans)
	}
	if m := page(t, bytes.NewReader(demo(t)), Window{From: 1000}); m.head.Rows != 0 || len(m.head.Spans) != 0 {
		t.Errorf("a window beside the capture has %d rows", m.head.Rows)
	}
}

// TestRuns has a file with two runs, of which the first is cut off in a turn, and
// more processes than have a lane of their own.
func TestRuns(t *testing.T) {
	list := []string{
		`{"seq":1,"t":1000,"from":"client","to":"agent#1","frame":{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}}`,
		`{"seq":2,"t":9000,"event":"restore","agent":"agent#1","session":"s","text":"begins"}`,
		"no line", header,
	}
	for i := range 9 {
		list = append(list, fmt.Sprintf(`{"seq":%d,"t":%d,"event":"spawn","agent":"agent#%d"}`, 2*i+1, 2*i*1000, i+1),
			fmt.Sprintf(`{"seq":%d,"t":%d,"event":"exit","agent":"agent#%d"}`, 2*i+2, 2*i*1000+500, i+1))
	}
	m := page(t, lines(list...), Window{})
	if m.head.Damaged != 1 || len(m.head.Runs) != 2 || m.head.Runs[1].Base != 9000+between || m.cols["t"][2] != 9000+between {
		t.Errorf("%d damaged, runs %+v", m.head.Damaged, m.head.Runs)
	}
	if len(m.head.Agents) != 10 || m.head.Lanes != 1 || m.head.Agents[0].Last != 1 || m.head.Agents[9].Name != "agent#9" {
		t.Errorf("%d lanes, %+v", m.head.Lanes, m.head.Agents)
	}
	if len(m.head.Spans) != 2 || !m.head.Spans[0].Open || !m.head.Spans[1].Open || m.head.Spans[0].To != 9000 || m.head.Spans[1].To != 9000 {
		t.Errorf("%+v", m.head.Spans)
	}
}

// TestWait has a permission that is waited for in a turn, and an answer that is
// an error.
func TestWait(t *testing.T) {
	m := page(t, lines(
		`{"seq":1,"t":1000,"from":"client","to":"agent#1","frame":{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"do it"}]}}}`,
		`{"seq":2,"t":2000,"from":"agent#1","to":"client","frame":{"id":9,"method":"session/request_permission","params":{"sessionId":"s"}}}`,
		`{"seq":3,"t":7000,"from":"client","to":"agent#1","frame":{"id":9,"result":{"outcome":{"outcome":"cancelled"}}}}`,
		`{"seq":4,"t":9000,"from":"agent#1","to":"client","frame":{"id":1,"error":{"code":-32603,"message":"it broke"}}}`,
	), Window{})
	if len(m.head.Spans) != 2 {
		t.Fatalf("%+v", m.head.Spans)
	}
	if s := m.head.Spans[0]; s.Kind != "turn" || s.Label != "do it" || s.Status != "error: it broke" || s.To-s.From != 8000 {
		t.Errorf("%+v", s)
	}
	if s := m.head.Spans[1]; s.Kind != "wait" || s.Label != "session/request_permission" || s.Row != 1 || s.To-s.From != 5000 {
		t.Errorf("%+v", s)
	}
	if int(m.cols["flags"][3])&failed == 0 || m.cols["took"][0] != 8000 {
		t.Errorf("the prompt took %v", m.cols["took"][0])
	}
}

// TestAnything makes pages of captures that are cut and spoiled.
func TestAnything(t *testing.T) {
	b := demo(t)
	for n := 0; n < len(b); n += 997 {
		page(t, bytes.NewReader(b[:n]), Window{})
		d := bytes.Clone(b)
		for i := n; i < min(n+4000, len(d)); i += 131 {
			d[i] ^= 1 << (i % 7)
		}
		page(t, bytes.NewReader(d), Window{})
	}
}
