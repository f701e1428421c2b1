package rdma

import (
	"context"
	"net/netip"
)

// ConnParams are the parameters of a connection (struct rdma_conn_param), from
// the point of view of the side that states them.
type ConnParams struct {
	// IRD is how many of the peer's READs we answer at once (responder
	// resources). ORD is how many READs we have outstanding at once (initiator depth).
	IRD, ORD int
	// RNRRetry is how often the peer's SENDs are retried when no RECV is
	// posted; 7 means without end. It has no meaning where [Caps].RNR is false.
	RNRRetry    int
	PrivateData []byte
}

// Listener accepts connections.
type Listener interface {
	// Accept waits for the next connection request. The caller answers it with
	// [ID.Accept] or [ID.Reject], from any goroutine; several may be open at once.
	Accept(ctx context.Context) (ID, error)
	// Addr is the address listened on.
	Addr() netip.AddrPort
	// Close stops listening. Connections that were accepted live on.
	Close() error
}

// ID is a connection and its queue pair (rdma_cm_id). The order of calls is:
// CreateQP, PostRecv, then Accept or Connect, then use, then Disconnect, then
// polling until everything posted has been flushed, then Close.
type ID interface {
	// Device is the device the connection runs on.
	Device() Device
	LocalAddr() netip.AddrPort
	RemoteAddr() netip.AddrPort
	// Remote is what the peer stated in its request (accepting side, at once)
	// or its reply (connecting side, after Connect), from our point of view:
	// Remote().ORD is how many READs we may have outstanding, as far as the
	// peer answers them; Remote().IRD is how many it will have outstanding.
	Remote() ConnParams
	// CreateQP makes the connection's queue pair, in pd. Receives may be posted at once.
	CreateQP(pd PD, cfg QPConfig) (QP, error)
	// Accept answers a request. IRD and ORD are lowered to what the peer and
	// the device allow; Negotiated returns the outcome. It does not wait for [EventEstablished].
	Accept(p ConnParams) error
	// Reject refuses a request, and closes the ID.
	Reject(privateData []byte) error
	// Connect makes the connection and waits for the answer. A refusal is a *[RejectedError].
	Connect(ctx context.Context, p ConnParams) error
	// Negotiated are the IRD and ORD in force, after Accept or Connect.
	Negotiated() (ird, ord int)
	// Events delivers what happens to the connection: at most one
	// [EventEstablished], then exactly one event that ends it; then it is closed.
	Events() <-chan Event
	// Disconnect begins to end the connection: requests posted before are still
	// sent if the peer takes them, and everything outstanding is then flushed. Safe
	// to call more than once and from any goroutine.
	Disconnect() error
	// Close destroys the queue pair and the ID. Work requests still
	// outstanding are flushed first; when Close returns the provider touches
	// no buffer any more.
	Close() error
}

// EventType is the kind of an event (enum rdma_cm_event_type, enum ibv_event_type).
type EventType uint8

// Kinds of events.
const (
	EventEstablished   EventType = iota
	EventDisconnected            // by either side, in order
	EventDeviceRemoval           // the device is going away
	EventFatal                   // the queue pair failed; Err says why
)

// Event is something that happened to a connection.
type Event struct {
	Type EventType
	Err  error // the reason, with EventFatal and, where there is one, EventDisconnected
}
