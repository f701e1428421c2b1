// Package rpc is ONC RPC version 2 (RFC 5531): calls and replies, AUTH_NONE and
// AUTH_SYS, dispatch to programs, the duplicate request cache, and record
// marking over TCP. RPC-over-RDMA is package nfsrdma; both hand their calls to a [Handler].
package rpc

// Flavor is an authentication flavor (RFC 5531 8.2).
type Flavor uint32

// Flavors.
const (
	AuthNone Flavor = 0
	AuthSys  Flavor = 1
)
