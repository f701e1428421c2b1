// Package mem is an RDMA provider inside the process, for tests: devices on a
// [Fabric] whose requests are executed by whoever posts them, in order, without
// goroutines of its own. It is therefore deterministic, and works inside
// testing/synctest bubbles.
//
// It is meant to be strict where hardware is, so that what works over it works
// elsewhere: real keys, bounds, rights and protection domains; addresses that are
// not those of the process; send-queue slots that come free only when the
// completion is polled; completion queues that must be large enough; gather
// lists, message sizes and private data within the [rdma.Caps] the device was
// given. [IWARPCaps] and [RoCECaps] imitate the two families: with the former the
// accepting side is held back until the connecting side has spoken, a SEND
// without a posted RECV ends the connection, and a WRITE may complete although it
// is refused; with the latter SENDs are retried.
//
// [Device.Inject] makes things go wrong.
//
// Lock order: link.mu (one per connection), then Provider.mu, Fabric.mu, Device.mu,
// Listener.mu, CQ.mu and faults.mu, none of which is held while another is taken.
package mem
