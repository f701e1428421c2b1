package stats

import "testing"

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want float64
	}{{[]float64{4}, 4}, {[]float64{9, 1, 5}, 5}, {[]float64{1, 2}, 2}} {
		in := append([]float64(nil), tc.in...)
		if got := Median(in); got != tc.want {
			t.Errorf("median of %v: %v, want %v", tc.in, got, tc.want)
		}
		for i := range in {
			if in[i] != tc.in[i] {
				t.Errorf("Median changed its argument to %v", in)
			}
		}
	}
}

// TestCompare wants the median of each round's ratio, not the ratio of the medians.
func TestCompare(t *testing.T) {
	got := Compare([]float64{10, 100, 30}, []float64{10, 50, 10})
	if want := (Comparison{Ours: 30, Theirs: 10, Ratio: 2, Least: 1, Most: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
