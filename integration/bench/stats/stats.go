// Package stats compares measurements that were made in turn.
package stats

import "slices"

// Median returns the middle of the values, the greater of the two where their number is even.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// Comparison is what two series come to that were measured in turn.
type Comparison struct {
	Ours, Theirs float64 // medians
	// Of the ratios ours/theirs within each round. The median of the ratios is not the
	// ratio of the medians: a noisy round disturbs both sides alike.
	Ratio, Least, Most float64
}

// Compare compares two series of the same number of rounds, one at least.
func Compare(ours, theirs []float64) Comparison {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	return Comparison{
		Ours: Median(ours), Theirs: Median(theirs),
		Ratio: Median(ratios), Least: slices.Min(ratios), Most: slices.Max(ratios),
	}
}
