package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"acp-shim/fixtures/seeds"
)

// TestReaderShapes: odd lines come out as they went in, whatever kind of stream they
// come from, and a line is what it is also behind a byte order mark.
func TestReaderShapes(t *testing.T) {
	in := strings.Join(seeds.Odd(), "\n") + "\n\r\n\x00\n" + strings.Repeat("\n", 1000) + "{\"no\":\"end\"}"
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in)), "halves": iotest.HalfReader(strings.NewReader(in)),
		"its end with the last bytes": iotest.DataErrReader(strings.NewReader(in)), "its end alone": iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(in))),
	} {
		if got := readAll(t, NewReader(src, 0)); string(got) != in {
			t.Errorf("%s: the stream changed", name)
		}
	}
}

// TestReaderAtTheLimit: a line may be as long as the limit, without its line end, and
// no byte longer, wherever the chunks' ends lie.
func TestReaderAtTheLimit(t *testing.T) {
	for _, limit := range []int{1, 63, 64, 65, 128, 1000} {
		for _, extra := range []int{0, 1} {
			for _, end := range []string{"\n", ""} {
				line := strings.Repeat("y", limit+extra)
				r := NewReader(strings.NewReader("a\n"+line+end), limit)
				r.chunk, r.buf = 64, make([]byte, 64)
				one := &single{Reader: r}
				if got, err := one.line(); string(got) != "a\n" || err != nil {
					t.Fatalf("%d: %q, %v", limit, got, err)
				}
				got, err := one.line()
				if _, long := AsTooLong(err); long != (extra > 0) || !long && string(got) != line+end {
					t.Errorf("%d bytes%q at a limit of %d: %d bytes, %v", len(line), end, limit, len(got), err)
				}
				if got, err := one.line(); err != io.EOF {
					t.Errorf("%d bytes at a limit of %d: then %q, %v", len(line), limit, got, err)
				}
			}
		}
	}
}

// TestLarge: numbers, keys and lists that are out of all proportion.
func TestLarge(t *testing.T) {
	const many = 100_000
	var keys strings.Builder
	for i := range many {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
	}
	for name, params := range map[string]string{
		"a number":       `{"n":` + strings.Repeat("7", many) + `.5,"sessionId":"s"}`,
		"keys":           `{` + keys.String() + `"sessionId":"s"}`,
		"a key":          `{"` + strings.Repeat("k", 1<<20) + `":1,"sessionId":"s"}`,
		"an escaped one": `{"` + strings.Repeat(`\u006b`, 1<<18) + `":1,"session\u0049d":"s"}`,
		"a session":      `{"sessionId":"s","x":"` + strings.Repeat("é", 1<<19) + `"}`,
		"spaces":         `{` + strings.Repeat(" \t\r\n"[:3], many) + `"sessionId":"s"}`,
	} {
		m := parse(`{"id":` + strings.Repeat("1", many) + `,"method":"x","params":` + params + `}`)
		if m.Kind != Request || string(m.Session) != "s" || m.ID.End-m.ID.Off != many || !m.Object() {
			t.Errorf("%s: %v, session %q", name, m.Kind, m.Session)
		}
		if !m.Add(m.Params, "added", "1") || !m.Rename(m.Params, "added", "other") || !m.Delete(m.Params, "other") || string(m.Text(m.Params)) != params {
			t.Errorf("%s: a change and its contrary are not what was before", name)
		}
	}
}
