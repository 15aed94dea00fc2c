package stats

import (
	"math"
	"slices"
	"time"
)

// A Quantile takes durations and gives their quantiles. It is exact for the first
// thousand; from then on it counts in buckets that each are 2 % wider than the one
// before, so that an answer is at most 1 % off, in at most 17 KB. (A reservoir
// would be smaller and wrong where it matters, in the tail; it would also answer
// differently each time.) The zero Quantile is ready.
type Quantile struct {
	n        int64
	sum      time.Duration
	min, max time.Duration
	exact    []time.Duration
	buckets  []int64
}

const (
	exactly = 1000
	growth  = 1.02
)

// bucketOf is the bucket of a duration; the last one takes all from a month up.
func bucketOf(d time.Duration) int {
	if d < 1 {
		return 0
	}
	return min(1+int(math.Log(float64(d))/math.Log(growth)), maxBucket)
}

const maxBucket = 2150

// Add takes a duration.
func (q *Quantile) Add(d time.Duration) {
	if q.n == 0 {
		q.min, q.max = d, d
	}
	q.n++
	q.sum += d
	q.min, q.max = min(q.min, d), max(q.max, d)
	switch {
	case q.buckets != nil:
		q.count(d)
	case len(q.exact) < exactly:
		q.exact = append(q.exact, d)
	default:
		for _, e := range q.exact {
			q.count(e)
		}
		q.exact = nil
		q.count(d)
	}
}

func (q *Quantile) count(d time.Duration) {
	b := bucketOf(d)
	if b >= len(q.buckets) {
		q.buckets = append(q.buckets, make([]int64, b+1-len(q.buckets))...)
	}
	q.buckets[b]++
}

// N is how many there were.
func (q *Quantile) N() int64 { return q.n }

// Max is the longest, 0 of none.
func (q *Quantile) Max() time.Duration { return q.max }

// Sum is all of them together.
func (q *Quantile) Sum() time.Duration { return q.sum }

// At is the smallest duration that a share p of all, between 0 and 1, do not
// exceed; 0 of none.
func (q *Quantile) At(p float64) time.Duration {
	if q.n == 0 {
		return 0
	}
	rank := max(int64(math.Ceil(p*float64(q.n))), 1)
	if q.buckets == nil {
		slices.Sort(q.exact)
		return q.exact[rank-1]
	}
	for b, c := range q.buckets {
		if rank -= c; rank <= 0 {
			if b == 0 {
				return q.min
			}
			// The middle of the bucket, which is nearest to all in it.
			mid := time.Duration(math.Pow(growth, float64(b)-0.5))
			return max(q.min, min(mid, q.max))
		}
	}
	return q.max
}
