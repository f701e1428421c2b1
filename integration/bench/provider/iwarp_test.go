package provider_test

import (
	"testing"

	"fileserver/integration/bench/provider"
)

func TestIWARP(t *testing.T) {
	r, err := provider.IWARP(t.Context(), provider.Options{Rounds: 1, Blocks: 8, Pings: 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(r) != 6 {
		t.Fatalf("%d figures, want 6", len(r))
	}
	for _, x := range r {
		if len(x.IWARP) != 1 || len(x.TCP) != 1 || x.IWARP[0] <= 0 || x.TCP[0] <= 0 {
			t.Errorf("%+v", x)
		}
	}
}
