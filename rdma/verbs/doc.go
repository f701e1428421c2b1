// Package verbs is the RDMA provider for devices that have a driver: InfiniBand,
// RoCE and iWARP adapters, and the kernel's rdma_rxe and siw, through rdma-core's
// libibverbs and librdmacm.
//
// # Building
//
// The provider is compiled in with the build tag rdmacore, on Linux, with cgo and
// the headers of libibverbs-dev and librdmacm-dev (make build finds out by itself).
// The libraries are opened at run time (dlopen), so that one binary serves without
// RDMA on a machine that has none and uses the adapter on a machine that has one.
// [New] says what is missing: the provider in the binary, or the libraries on the
// machine.
//
// # Inside
//
// C has the data path (shim_data.c): a ring for each queue remembers what is posted,
// so that one call posts a chain or polls a batch, completions carry the caller's
// IDs, and everything outstanding can be completed, as flushed, when the queue pair
// is gone. Go has the rest: one goroutine for connection manager events, one for the
// asynchronous events of each device, one that checks every second whether the devices
// are still present. A waiter sleeps in the runtime's poller on its completion channel.
//
// Queue pairs are created and moved through their states here, not by librdmacm, whose
// event handling would use them while another thread destroys them. The end of a
// connection always goes the same way (id.go, flush.go): posting is refused and the
// event is sent; if our side disconnects, posted requests get time to be sent; then the
// device stops and flushes, the queue pair is destroyed, and requests without a
// completion get one.
//
// # What devices do differently
//
// iWARP devices may complete READs after what was posted later: completions are put in
// order. Some drivers (rxe, siw) cannot take a device from its users: everything is
// released on removal, also what librdmacm keeps open (bound.go, vb_orphan). Of siw:
// a peer may READ any region of the domain whose key it guesses, so that a domain
// should be a connection's own; data of less than 25 bytes that crosses a page may be
// sent wrong; READs are answered up to the depth the peer asks for; keys that a message
// has invalidated are not reported; and a peer that closes at the wrong moment while it is
// accepted makes Linux 7.2 panic (a CLOSE of a connection that was never established).
package verbs
