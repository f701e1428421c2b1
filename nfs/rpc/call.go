package rpc

import (
	"context"
	"net/netip"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/slab"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// Conn is what a program may know of the connection a call came in on. It is
// immutable, shared by all calls of the connection, and comparable by pointer.
type Conn struct {
	ID         uint64         // unique in the process
	Transport  string         // "tcp", "iwarp", "roce", "infiniband", "mem"
	RemoteAddr netip.AddrPort // the port means nothing on RDMA
	LocalAddr  netip.AddrPort
	// Done is closed when the connection has ended.
	Done <-chan struct{}
}

// RDMA reports whether bulk data moves by RDMA on this connection.
func (c *Conn) RDMA() bool { return c.Transport != "tcp" }

// Privileged reports whether root of the client has opened the connection: only root can take a port below 1024. The Linux
// client takes no such port on RDMA. RDMA connections therefore pass, except iWARP connections within this machine, which
// any user can open because iWARP is TCP.
func (c *Conn) Privileged() bool {
	remote := c.RemoteAddr.Addr().Unmap()
	switch {
	case c.RemoteAddr.Port() < firstUserPort:
		return true
	case c.Transport == "iwarp":
		return !remote.IsLoopback() && remote != c.LocalAddr.Addr().Unmap()
	}
	return c.RDMA()
}

// firstUserPort is the first port that every user can take.
const firstUserPort = 1024

// Limits is what the transport can take back for one call.
type Limits struct {
	// Inline is the longest reply without any payload moved aside, bytes of RPC
	// message: the inline threshold or the reply chunk, whichever takes more (RFC 8166 3.3.2).
	Inline int
	// Payloads are the sizes of the places the client provides for bulk
	// results, in the order of the results eligible (RFC 8166 3.4.6). Nil on TCP, where all goes inline.
	Payloads []int
}

// Call is one RPC call in execution. Transports make, fill and reuse Calls; everything in it is the
// program's until the call has been answered, and must be copied to be kept longer.
type Call struct {
	// Filled by the transport.
	Conn    *Conn
	Buffers *slab.Pool // where results take their payload buffers from: see Buffer
	// Held bounds what the calls of the connection hold of Buffers; nil where the transport bounds it itself.
	Held    *admission.Budget
	Message xdr.Decoder
	Limits  Limits

	// Filled by Server from the call header (RFC 5531 9).
	XID, Prog, Vers, Proc uint32
	Flavor                Flavor
	// Cred is the AUTH_SYS credential as the client states it, before any
	// squashing; uid and gid 65534 for AUTH_NONE.
	Cred    vfs.Cred
	Machine string // AUTH_SYS machinename

	// Args are the procedure's arguments.
	Args xdr.Decoder
	// Began is when the procedure's execution began. Programs use it instead of reading the clock again.
	Began time.Time

	// Status is the status of the protocol above (nfsstat3, nfsstat4, mountstat3), for metrics; set by the procedure.
	Status uint32

	groups       [maxGroups]uint32 // storage of Cred.Groups
	mapped       vfs.Cred          // storage of MappedCred
	mappedGroups [maxGroups]uint32
	detached     detachedContext
}

// MappedCred is room for the credential that squashing makes of Cred: it has no
// groups, and capacity for as many as AUTH_SYS can state. There is one per call:
// asking again invalidates the last.
func (c *Call) MappedCred() *vfs.Cred {
	c.mapped = vfs.Cred{Groups: c.mappedGroups[:0]}
	return &c.mapped
}

// PayloadLimit is how many bytes of bulk data the i-th eligible result may have, 0 the first, when the
// rest of the reply takes head bytes: the size of the client's i-th place, or what fits inline.
func (c *Call) PayloadLimit(i, head int) int {
	if i < len(c.Limits.Payloads) {
		return c.Limits.Payloads[i]
	}
	return max(0, (c.Limits.Inline-head)&^3)
}

// Handler executes calls. [Server] is the one; transports ask for this much.
type Handler interface {
	// Serve executes the call that c.Message holds and appends the whole reply
	// message to r. When it returns false there is no reply to be sent (RFC 5531 9: a call that is not one, or
	// a duplicate of one that will be answered); the transport still owns c and r. It blocks as long as the call takes.
	// ctx is the server's, not the connection's: a call once begun is finished, because the client may
	// ask for its reply on another connection. What is of no use without the connection watches c.Conn.Done.
	Serve(ctx context.Context, c *Call, r *Reply) bool
}
