// Package stats compares measurements that were made alternately.
package stats

import "slices"

// Median returns the middle value, or the greater of the two middle ones if their number is even.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// Comparison summarizes two series that were measured alternately.
type Comparison struct {
	Ours, Theirs float64 // medians
	// The median, the least and the greatest of the ratios ours/theirs within each round.
	// A ratio of medians would be less exact: a noisy round disturbs both of its sides alike.
	Ratio, Least, Most float64
}

// Compare compares two series with the same number of rounds, which is at least one.
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
