package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestCounter(t *testing.T) {
	var c counter
	seqs := []uint64{1, 2, 3, 9, 10, 11, 99, 100, 100, 7, 8, math.MaxUint64, 0, 1}
	for n := uint64(995); n < 2005; n++ {
		seqs = append(seqs, n)
	}
	for range 1000 {
		n := rand.Uint64N(1 << rand.IntN(64))
		seqs = append(seqs, n, n+1, n+2)
	}
	for i, seq := range seqs {
		at := int64(i / 3)
		want := fmt.Sprintf(`{"seq":%d,"t":%d`, seq, at)
		if got := string(c.append(nil, seq, at)); got != want {
			t.Fatalf("%s, and not %s", got, want)
		}
	}
}
