//go:build linux && cgo && rdmacore

package verbs

import (
	"net/netip"
	"os"
	"testing"

	"go.uber.org/goleak"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest"
)

// The tests that need a device take the address of one from the environment; see
// integration/rxe, which runs them in a guest.
func listenAddr(t testing.TB) netip.AddrPort {
	t.Helper()
	s := os.Getenv("VERBS_ADDR")
	if s == "" {
		t.Skip("VERBS_ADDR names no address of an RDMA device; integration/rxe runs this test in a guest")
	}
	return netip.AddrPortFrom(netip.MustParseAddr(s), 0)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testProvider(t testing.TB, cfg Config) *Provider {
	t.Helper()
	cfg.Log = rdmatest.Log()
	p, err := New(cfg)
	return rdmatest.Opened(t, p, err)
}

// TestSuite runs the providers' common suite.
func TestSuite(t *testing.T) {
	addr := listenAddr(t)
	rdmatest.Run(t, func(t *testing.T) rdmatest.Harness {
		p := testProvider(t, Config{})
		devs, err := p.Devices()
		if err != nil || len(devs) == 0 {
			t.Fatalf("devices %v, %v", devs, err)
		}
		h := rdmatest.Harness{Provider: p, Listen: addr, NoInvalidation: true}
		if devs[0].Caps().Transport == rdma.TransportIWARP { // the kernel's
			h.NoInvalidation, h.NoRecvInvalidation = false, true
			h.LaxReads, h.GenerousIRD, h.TornBelow = true, true, 25
		}
		return h
	})
}
