package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantile compares with the answers of a sorted list: equal as long as it is
// exact, within a percent from then on.
func TestQuantile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 10, exactly, exactly + 1, 100_000} {
		var q Quantile
		var all []time.Duration
		for range n {
			// From a microsecond to some minutes, as times of a capture are.
			d := time.Duration(math.Exp(rnd.Float64()*19) * 1000)
			q.Add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, p := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
			want := all[max(int(math.Ceil(p*float64(n))), 1)-1]
			got := q.At(p)
			off := math.Abs(float64(got-want)) / float64(want)
			if n <= exactly && got != want || off > 0.01 {
				t.Errorf("of %d, %v is %v, want %v", n, p, got, want)
			}
		}
		if q.N() != int64(n) || q.Max() != all[n-1] {
			t.Errorf("of %d: N %d, max %v", n, q.N(), q.Max())
		}
	}
}

func TestQuantileEdges(t *testing.T) {
	var q Quantile
	if q.At(0.5) != 0 || q.Max() != 0 {
		t.Error("there is something in nothing")
	}
	for range 2 * exactly {
		q.Add(-time.Second) // a clock that went back
		q.Add(math.MaxInt64)
	}
	if q.At(0.5) != -time.Second || q.At(1) < 28*24*time.Hour || len(q.buckets) > maxBucket+1 {
		t.Errorf("%v to %v in %d buckets", q.At(0.5), q.At(1), len(q.buckets))
	}
}
