// Package rpc is ONC RPC version 2 (RFC 5531): calls and replies, AUTH_NONE and
// AUTH_SYS, dispatch to programs, the duplicate request cache, and record
// marking over TCP. RPC-over-RDMA is package nfsrdma; both hand their calls to a [Handler].
//
// A [Program] is a table of procedures. [Server] finds the procedure of a call, executes it and writes
// the reply, of which there is exactly one, whatever the procedure does: a panic becomes SYSTEM_ERR.
//
// # Duplicates
//
// A client that loses its connection asks again on a new one, with the same xid. Procedures that must not be
// executed twice have [Procedure].Cache set. Their replies, the RPC messages and not what a transport makes of
// them, are kept by client address (without the port), xid, procedure, and a sum over credential and arguments. A
// duplicate of a call that is still being executed is dropped on the same connection, where the reply will come; on another
// it waits for the reply and gets it. Executions do not end with their connection. See [CacheConfig] for the bounds.
//
// # TCP
//
// [TCPServer] reads messages of any fragmentation, the large ones straight into a buffer of the pool, and executes up to
// a number of them per connection at once; then it stops reading. Replies leave in the order they are ready,
// several in one writev(2), payloads from where they are. A connection without calls costs its read buffer (8 KiB) and a goroutine.
package rpc

// Flavor is an authentication flavor (RFC 5531 8.2).
type Flavor uint32

// Flavors.
const (
	AuthNone Flavor = 0
	AuthSys  Flavor = 1
)
