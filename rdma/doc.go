// Package rdma is the verbs core: the vocabulary every RDMA provider and both
// transports (nfsrdma, smbdirect) share, and the machinery built on it alone.
//
// The words are those of the verbs: a [Provider] has devices; a [Device] gives
// protection domains, completion queues and queue pairs; memory becomes
// reachable by registering it in a [PD]; work requests are posted to a [QP] and
// their completions polled from a [CQ]; connections are made through a [Listener]
// or [Provider.Resolve] and identified by an [ID] (rdma_cm_id).
//
// # Ordering
//
// Work requests of one send queue start in the order posted. An RDMA WRITE is
// placed before a later SEND of the same queue pair is delivered, on every
// transport. An RDMA READ is complete only when its completion says so; a later
// SEND does not wait for it unless it carries [SendFence].
//
// # Completions and buffers
//
// A buffer named by a work request belongs to the provider from the post until
// the completion of that request, or of a later signalled request of the same
// queue: an unsignalled request has no completion of its own when it succeeds.
// After an error every request outstanding completes with [StatusWRFlushErr],
// signalled or not, and only then may its buffer be used again.
//
// The completion of an RDMA WRITE means "handed to a reliable transport" on
// iWARP, "acknowledged by the remote device" elsewhere
// ([Caps].WriteCompletionIsRemote): neither says that the remote consumer
// knows.
//
// # Machinery
//
// [Memory] registers a slab pool's arenas in a domain, so that any buffer of the
// pool can be named in a request; [Window] opens one buffer to the peer under a
// key of its own. [Endpoint] drives a connection: transports fill chains
// ([SendOp]), read remote segments and take messages, and need not know of slots,
// READ credits, limits of a device, or flushes. Two files need special care: segments.go
// splits transfers into work requests, and endpoint_end.go ends connections.
//
// Lock order: this package never holds [Endpoint].mu, a provider's locks and the slab
// pool's together, except to register a new arena: the pool's lock, [Memory].mu, then
// the provider's locks.
package rdma
