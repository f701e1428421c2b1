//go:build linux && cgo && rdmacore

package pair

import (
	"context"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest"
	"fileserver/rdma/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// address is the device's, on which both providers listen: one by way of the device, the
// other by TCP of the machine.
func address(t *testing.T) netip.AddrPort {
	t.Helper()
	s := os.Getenv("PAIR_ADDR")
	if s == "" {
		t.Skip("PAIR_ADDR names no address of an iWARP device; integration/siw runs this test in a guest")
	}
	return netip.AddrPortFrom(netip.MustParseAddr(s), 0)
}

// pureGo opens the provider that is TCP for the machine.
func pureGo(cfg iwarp.Config) rdmatest.Open {
	return func(t *testing.T) rdmatest.Harness {
		addr := address(t)
		cfg.Log = rdmatest.Log()
		p, err := iwarp.New(cfg)
		return rdmatest.Harness{Provider: chosen{rdmatest.Opened(t, p, err)}, Listen: addr}
	}
}

// siw opens the kernel's.
func siw(t *testing.T) rdmatest.Harness {
	addr := address(t)
	p, err := verbs.New(verbs.Config{Log: rdmatest.Log()})
	return rdmatest.Harness{Provider: chosen{rdmatest.Opened(t, p, err)}, Listen: addr, NoRecvInvalidation: true, LaxReads: true, GenerousIRD: true, TornBelow: 25, DeadlyCancel: true}
}

// chosen listens on ports that nobody is given. TCP and the kernel's connection
// manager choose ports from one range without knowing of each other; siw, which wants
// those of the latter from the former, fails where the two have chosen the same.
type chosen struct{ rdma.Provider }

var lastPort atomic.Uint32

func (c chosen) Listen(ctx context.Context, addr netip.AddrPort) (rdma.Listener, error) {
	const first, ports = 20000, 10000
	return c.Provider.Listen(ctx, netip.AddrPortFrom(addr.Addr(), uint16(first+lastPort.Add(1)%ports)))
}

// crcs are without CRC, which the kernel leaves to its peer, and with it.
var crcs = map[string]iwarp.Config{"Plain": {}, "CRC": {CRC: iwarp.CRCAlways}}

// TestGoServes: the kernel connects. It does so first: later the ports that the
// machine's TCP has used in TestGoConnects would be in its way for a minute.
func TestGoServes(t *testing.T) {
	for name, cfg := range crcs {
		t.Run(name, func(t *testing.T) { rdmatest.RunPair(t, pureGo(cfg), siw) })
	}
}

// TestGoConnects: the kernel accepts.
func TestGoConnects(t *testing.T) {
	for name, cfg := range crcs {
		t.Run(name, func(t *testing.T) { rdmatest.RunPair(t, siw, pureGo(cfg)) })
	}
}
