package rdma

import (
	"context"
	"net/netip"
)

// Provider is one implementation of the verbs: a library that drives hardware,
// a protocol stack in software, or a simulation.
type Provider interface {
	// Name identifies the provider in logs, metrics and configuration: "iwarp", "mem", "verbs".
	Name() string
	// Devices lists the devices present now.
	Devices() ([]Device, error)
	// Listen accepts connections on addr. A zero port takes a free one
	// ([Listener.Addr] tells which).
	Listen(ctx context.Context, addr netip.AddrPort) (Listener, error)
	// Resolve prepares a connection to addr: it finds the device and the route
	// (rdma_resolve_addr, rdma_resolve_route). The peer learns nothing before
	// [ID.Connect].
	Resolve(ctx context.Context, addr netip.AddrPort) (ID, error)
}

// Device is one RDMA device (ibv_context).
type Device interface {
	// Name is the device's name, e.g. "siw0", or the provider's name where there is but one.
	Name() string
	// Caps are the device's limits and abilities. They do not change.
	Caps() Caps
	// AllocPD allocates a protection domain.
	AllocPD() (PD, error)
	// CreateCQ creates a completion queue for at least depth completions. The
	// queue must never hold more: the caller sizes it as the sum of the depths
	// of the queues attached to it.
	CreateCQ(depth int) (CQ, error)
}

// Transport is the kind of wire below a device.
type Transport uint8

// The transports.
const (
	TransportMem        Transport = iota // in-process simulation
	TransportIWARP                       // MPA, DDP and RDMAP over TCP
	TransportRoCE                        // RoCE v2
	TransportInfiniBand                  // InfiniBand

	// TransportUnknown is the wire of devices without reliable connections as used here: usNIC, EFA.
	TransportUnknown Transport = 0xff
)

// String names the transport as logs and metrics do.
func (t Transport) String() string {
	switch t {
	case TransportMem:
		return "mem"
	case TransportIWARP:
		return "iwarp"
	case TransportRoCE:
		return "roce"
	case TransportInfiniBand:
		return "infiniband"
	}
	return "unknown"
}

// Caps are the limits and abilities of a device. Abilities beyond reliable
// connections with SEND, WRITE and READ are named, so that a caller can ask;
// where one is false the corresponding request fails with [ErrUnsupported].
type Caps struct {
	Transport  Transport
	MaxSGE     int   // elements in the gather list of a SEND or WRITE, and in a RECV's
	MaxSGERead int   // elements in the scatter list of a READ: 1 on iWARP
	MaxInline  int   // bytes a SEND may carry with [SendInline]
	MaxQPWR    int   // outstanding requests per queue
	MaxIRD     int   // inbound READs outstanding per connection (responder resources)
	MaxORD     int   // outbound READs outstanding per connection (initiator depth)
	MaxMsgSize int64 // bytes in one message

	MaxRequestPrivateData int // bytes the connecting side may attach
	MaxReplyPrivateData   int // bytes the accepting side may attach

	// ReadSinkNeedsRemoteWrite: the local buffer of a READ must be registered
	// with AccessRemoteWrite, and its key crosses the wire (hardware iWARP).
	ReadSinkNeedsRemoteWrite bool
	// InitiatorSpeaksFirst: the accepting side's requests wait until the
	// connecting side's first message has arrived (iWARP; the provider does the waiting).
	InitiatorSpeaksFirst bool
	// RNR: a SEND that meets no posted RECV is retried instead of ending the connection.
	RNR bool
	// SignalFrom: SENDs and WRITEs of so many bytes or more must ask for a completion, or else their memory may still be read when
	// later requests have completed (Linux' siw, which lends the pages to TCP); 0: none. [Endpoint] sees to it.
	SignalFrom int
	// WriteCompletionIsRemote: see the package comment.
	WriteCompletionIsRemote bool

	SendInvalidate bool // OpSendInvalidate
	Immediate      bool // OpSendImm, OpWriteImm
	Atomics        bool // OpCompareSwap, OpFetchAdd
	MemoryWindows  bool // OpBindMW
	Datagrams      bool // unreliable datagram queue pairs
	SRQ            bool // shared receive queues
}
