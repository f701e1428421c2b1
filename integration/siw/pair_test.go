package siw

import (
	_ "embed"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
	_ "fileserver/rdma/rdmatest" // so that go test does not use a cached result when the program built below changes
)

//go:embed scripts/pair.sh
var pairScript string

// TestPair runs the suite of providers in a guest, between the pure-Go iWARP provider
// and rdma/verbs on the kernel's siw: each of them accepts and connects, without CRC and with it.
func TestPair(t *testing.T) {
	host := guest.ForTest(t)
	bin := build(t, "pair", "rdmacore", "test", "-c", "fileserver/integration/siw/pair")
	out := host.BootForTest(t, guest.Config{Script: pairScript, Args: []string{bin}}).Check(workload.Within(t, 5*time.Minute), t).Output
	for _, name := range []string{"TestGoServes/Plain", "TestGoServes/CRC", "TestGoConnects/Plain", "TestGoConnects/CRC"} {
		if n := len(regexp.MustCompile(`(?m)^ +--- PASS: `+name+`/[^/ ]+ `).FindAllString(out, -1)); n < 30 {
			t.Errorf("%s: only %d tests of the suite have passed", name, n)
		}
	}
	if t.Failed() || strings.Contains(out, "--- FAIL") {
		t.Errorf("%s", out)
	}
}
