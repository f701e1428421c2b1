package siw

import (
	"slices"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
	_ "fileserver/rdma/verbs" // so that go test does not use a cached result when the program built below changes
)

// TestInside runs the tools against rdma/verbs in one guest, on the kernel's rxe and
// siw.
func TestInside(t *testing.T) {
	for _, kind := range []string{"rxe", "siw"} {
		t.Run(kind, func(t *testing.T) {
			host := guest.ForTest(t)
			bin := build(t, "peer-verbs", "rdmacore", "build", peerPackage)
			runs := append(rpings(), perftests(kind == "siw")...)
			for i := range runs {
				runs[i].peer = append(slices.Clone(runs[i].peer), "--provider", "verbs")
			}
			g := boot(t, host, lines(runs, firstPort, "HERE", "HERE"), kind, bin)
			judge(t, runs, outcomes(g.Check(workload.Within(t, 3*time.Minute), t).Output))
		})
	}
}
