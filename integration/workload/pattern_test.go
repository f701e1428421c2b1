package workload

import "testing"

// TestPattern fills a range in pieces of every length and finds every change of a byte.
func TestPattern(t *testing.T) {
	whole := make([]byte, 200)
	Fill(whole, 7, 1<<40+3)
	for n := 1; n < 20; n++ {
		for at := 0; at+n <= len(whole); at += n {
			if err := Check(whole[at:at+n], 7, 1<<40+3+int64(at)); err != nil {
				t.Fatalf("piece of %d at %d: %v", n, at, err)
			}
		}
	}
	for i := range whole {
		whole[i] ^= 1
		if Check(whole, 7, 1<<40+3) == nil {
			t.Errorf("a change of byte %d goes unnoticed", i)
		}
		whole[i] ^= 1
	}
	if Check(whole, 8, 1<<40+3) == nil || Check(whole, 7, 1<<40+4) == nil {
		t.Error("another seed or place goes unnoticed")
	}
}
