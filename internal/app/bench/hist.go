package bench

import (
	"math/bits"
	"time"
)

// Buckets of a histogram: each power of two is cut into 1<<subBits, so that a value
// is known to one part in 64.
const (
	subBits  = 6
	maxValue = 1<<46 - 1 // nanoseconds: 19 hours
	buckets  = (46-subBits-1)<<subBits + 2<<subBits
)

// hist counts durations. It is one goroutine's.
type hist struct {
	count [buckets]uint64
	n     uint64
	sum   uint64 // nanoseconds
	max   uint64
}

func bucketOf(v uint64) int {
	if v < 2<<subBits {
		return int(v)
	}
	e := bits.Len64(v) - subBits - 1
	return e<<subBits + int(v>>e)
}

// highest is the highest value in a bucket.
func highest(b int) uint64 {
	if b < 2<<subBits {
		return uint64(b)
	}
	e := b>>subBits - 1
	return uint64(b-e<<subBits+1)<<e - 1
}

func (h *hist) add(d time.Duration) {
	v := min(uint64(max(d, 0)), maxValue)
	h.count[bucketOf(v)]++
	h.n++
	h.sum += v
	h.max = max(h.max, v)
}

func (h *hist) merge(o *hist) {
	for i, n := range o.count {
		h.count[i] += n
	}
	h.n += o.n
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// quantile is the duration that the part q of all does not exceed.
func (h *hist) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.n))
	if float64(rank) < q*float64(h.n) {
		rank++
	}
	seen := uint64(0)
	for i, n := range h.count {
		if seen += n; n > 0 && seen >= rank {
			return time.Duration(min(highest(i), h.max))
		}
	}
	return time.Duration(h.max)
}

func (h *hist) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / h.n)
}
