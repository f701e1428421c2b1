// Package rdmatest is the suite every RDMA provider passes.
//
// A provider's test calls [Run] with a [Harness]; two different providers that
// speak the same protocol are tested against each other with [RunPair]. The suite
// asks a device only for what its [rdma.Caps] say it can do; what they deny must be
// refused with [rdma.ErrUnsupported].
package rdmatest

import (
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"fileserver/rdma"
)

// Harness is a provider under test.
type Harness struct {
	Provider rdma.Provider
	// Listen is where the suite listens, e.g. 127.0.0.1:0. [rdma.Provider].Resolve
	// of the other side must reach [rdma.Listener].Addr.
	Listen netip.AddrPort
	// NoRecvInvalidation: completions of RECVs do not tell what was invalidated, as
	// with verbs in user space that keep it to themselves.
	NoRecvInvalidation bool
	// NoInvalidation: a peer that invalidates the key of a region is refused, as by
	// InfiniBand devices, whose regions made in user space are not for that.
	NoInvalidation bool
	// LaxReads: a peer may READ all regions of the connection's domain, also those
	// that are not open to it, as with the Linux kernel's software iWARP.
	LaxReads bool
	// GenerousIRD: the accepting side answers as many READs as the connecting side asks
	// for, whatever its user states, as the Linux kernel's software iWARP does.
	GenerousIRD bool
	// TornBelow: data of fewer bytes that crosses a page boundary may be sent wrong, as
	// by the Linux kernel's software iWARP (7.2, siw_try_1seg).
	TornBelow int
	// DeadlyCancel: a peer that gives up while it is accepted, between the MPA reply and the ready-to-receive message
	// (RFC 6581 9.2), ends the machine, as with the Linux kernel's software iWARP (7.2): siw announces the end of a connection that it
	// has not called established, and iwcm takes that for a BUG.
	DeadlyCancel bool
}

// torn reports whether n bytes at an offset of page-aligned memory may be sent wrong.
func (h *Harness) torn(off, n int) bool {
	const page = 4096
	return n < h.TornBelow && off%page+n > page
}

// Open makes a harness for one test; what has to be undone it hands to t.Cleanup.
type Open func(t *testing.T) Harness

// Run runs the suite with one provider on both sides.
func Run(t *testing.T, open Open) {
	runAll(t, func(t *testing.T) *rig {
		h := open(t)
		return &rig{t: t, server: h, client: h}
	})
}

// RunPair runs the suite between two providers.
func RunPair(t *testing.T, server, client Open) {
	runAll(t, func(t *testing.T) *rig {
		return &rig{t: t, server: server(t), client: client(t)}
	})
}

// rig is what one test works with.
type rig struct {
	t              *testing.T
	server, client Harness
}

func runAll(t *testing.T, open func(*testing.T) *rig) {
	for _, c := range []struct {
		name string
		f    func(*rig)
	}{
		{"Send", testSend},
		{"Write", testWrite},
		{"Read", testRead},
		{"Gather", testGather},
		{"Inline", testInline},
		{"Unsupported", testUnsupported},
		{"TooMany", testTooMany},
		{"Busy", testBusy},
		{"Unsignalled", testUnsignalled},
		{"WriteBeforeSend", testWriteBeforeSend},
		{"Duplex", testDuplex},
		{"ReadDepth", testReadDepth},
		{"ReadNotNegotiated", testReadNotNegotiated},
		{"Fence", testFence},
		{"Invalidate", testInvalidate},
		{"NoReceive", testNoReceive},
		{"Protection", testProtection},
		{"LocalProtection", testLocalProtection},
		{"TooLong", testTooLong},
		{"Deregistered", testDeregistered},
		{"FlushLocal", testFlushLocal},
		{"FlushRemote", testFlushRemote},
		{"Close", testClose},
		{"PrivateData", testPrivateData},
		{"Reject", testReject},
		{"NobodyListens", testNobodyListens},
		{"ConnectCancelled", testConnectCancelled},
		{"ListenerClose", testListenerClose},
		{"Negotiation", testNegotiation},
		{"EarlyMessage", testEarlyMessage},
		{"Many", testMany},
		{"Random", testRandom},
		{"Endpoint", testEndpoint},
		{"EndpointOwnDomain", testEndpointOwnDomain},
		{"EndpointDrain", testEndpointDrain},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, leaks) }) // runs last
			c.f(open(t))
		})
	}
}
