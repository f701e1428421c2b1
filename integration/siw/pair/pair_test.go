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

// address returns the device's address. Both providers listen on it: one through the
// device, the other through the machine's TCP.
func address(t *testing.T) netip.AddrPort {
	t.Helper()
	s := os.Getenv("PAIR_ADDR")
	if s == "" {
		t.Skip("PAIR_ADDR names no address of an iWARP device; integration/siw runs this test in a guest")
	}
	return netip.AddrPortFrom(netip.MustParseAddr(s), 0)
}

// pureGo opens the provider that uses the machine's TCP.
func pureGo(cfg iwarp.Config) rdmatest.Open {
	return func(t *testing.T) rdmatest.Harness {
		addr := address(t)
		cfg.Log = rdmatest.Log()
		p, err := iwarp.New(cfg)
		return rdmatest.Harness{Provider: chosen{rdmatest.Opened(t, p, err)}, Listen: addr}
	}
}

// siw opens the provider that uses the kernel's siw.
func siw(t *testing.T) rdmatest.Harness {
	addr := address(t)
	p, err := verbs.New(verbs.Config{Log: rdmatest.Log()})
	return rdmatest.Harness{Provider: chosen{rdmatest.Opened(t, p, err)}, Listen: addr, NoRecvInvalidation: true, LaxReads: true, GenerousIRD: true, TornBelow: 25, DeadlyCancel: true}
}

// chosen listens on ports outside the range from which TCP and the kernel's RDMA
// connection manager each choose ports. They do not coordinate: siw binds the connection
// manager's port in TCP, and fails if TCP has chosen the same one.
type chosen struct{ rdma.Provider }

var lastPort atomic.Uint32

func (c chosen) Listen(ctx context.Context, addr netip.AddrPort) (rdma.Listener, error) {
	const first, ports = 20000, 10000
	return c.Provider.Listen(ctx, netip.AddrPortFrom(addr.Addr(), uint16(first+lastPort.Add(1)%ports)))
}

// crcs are configurations without CRC, which the kernel leaves to its peer, and with it.
var crcs = map[string]iwarp.Config{"Plain": {}, "CRC": {CRC: iwarp.CRCAlways}}

// TestGoServes has the kernel connect. It must run before TestGoConnects, because the
// ports that the machine's TCP uses there stay blocked for a minute.
func TestGoServes(t *testing.T) {
	for name, cfg := range crcs {
		t.Run(name, func(t *testing.T) { rdmatest.RunPair(t, pureGo(cfg), siw) })
	}
}

// TestGoConnects has the kernel accept.
func TestGoConnects(t *testing.T) {
	for name, cfg := range crcs {
		t.Run(name, func(t *testing.T) { rdmatest.RunPair(t, siw, pureGo(cfg)) })
	}
}
