package iwarpbench

import (
	"context"
	"testing"

	"fileserver/rdma/iwarp"
)

// BenchmarkAgainstTCP prints the ratios of Run as metrics, once whatever b.N is.
func BenchmarkAgainstTCP(b *testing.B) {
	for name, cfg := range map[string]iwarp.Config{
		"plain":   {NoPeerToPeer: true},
		"crc":     {NoPeerToPeer: true, CRC: iwarp.CRCAlways, MaxFPDU: 65544},
		"mtu1448": {NoPeerToPeer: true, MaxFPDU: 1448},
		"mtu8948": {NoPeerToPeer: true, MaxFPDU: 8948},
	} {
		b.Run(name, func(b *testing.B) {
			r, err := Run(context.Background(), Options{Config: cfg})
			if err != nil {
				b.Fatal(err)
			}
			for _, x := range r {
				b.Logf("%-24s %8.3f %s, TCP %8.3f: ratio %.2f", x.Name, x.IWARP, x.Unit, x.TCP, x.Ratio)
			}
		})
	}
}

func TestRun(t *testing.T) {
	r, err := Run(context.Background(), Options{Rounds: 1, Blocks: 8, Pings: 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(r) != 6 {
		t.Fatalf("%d figures, want 6", len(r))
	}
	for _, x := range r {
		if x.IWARP <= 0 || x.TCP <= 0 || x.Ratio <= 0 {
			t.Errorf("%+v", x)
		}
	}
}
