package show

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"testing"

	"acp-shim/fixtures"
	"acp-shim/internal/trace"
	"acp-shim/record"
)

// look does with a capture all that can be done.
func look(b []byte) (n int) {
	var titles Titles
	f := Folder{Emit: func(r *Row) { n += Width(Clip(Clean(titles.Gist(r)), 50)) }}
	s := Search{Pattern: regexp.MustCompile("gemini.*flash")}
	where, _ := Where(`params.update.status=="completed"`)
	for r, err := range trace.Read(record.Read(bytes.NewReader(b))) {
		if err != nil {
			continue
		}
		titles.See(r)
		f.Add(r)
		Wrong(r)
		NewLine(r, true)
		Changes(r)
		s.In(r)
		where(r.Body)
	}
	f.Flush()
	return n
}

// TestDamaged: a capture that is cut anywhere, or has any bit wrong, is looked at
// as far as it goes.
func TestDamaged(t *testing.T) {
	whole, err := fixtures.Captures.ReadFile("captures/demo-1.3.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if look(whole) < 1000 {
		t.Fatal("nothing is seen in the whole capture")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		look(whole[:rnd.IntN(len(whole))])
		b := bytes.Clone(whole)
		for range 20 {
			b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
		}
		look(b)
	}
	small := whole[:bytes.Index(whole, []byte(`{"seq":5`))]
	for i := range small {
		look(small[:i])
	}
}
