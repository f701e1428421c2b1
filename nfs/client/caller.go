package client

import (
	"context"
	"fmt"

	"fileserver/nfs/rpc"
)

// Call is one call of a [Slot].
type Call struct {
	Prog, Vers, Proc uint32
	Args             []byte // encoded; with Send, up to the data
	Send             int    // bytes of the slot's memory that follow Args: a multiple of 4
	Recv             int    // most bytes of bulk data in the results; at most the slot's memory

	// Results are the bytes that follow accept_stat, without Placed. They are valid until the slot's next call.
	Results []byte
	// Placed is bulk data that came outside the results, by RDMA (RFC 8166 3.4.6). It is valid as long as Results.
	Placed []byte
}

// Slot makes one call at a time. One goroutine uses it.
type Slot interface {
	// Data returns the memory for the data to send. Calls with Recv overwrite it.
	Data() []byte
	// Do makes a call. If ctx ends first, the connection may end, too.
	// If the server did not execute the call, the error is an *[AcceptError].
	Do(ctx context.Context, call *Call) error
	// Release frees the slot's memory.
	Release() error
}

// Caller is a connection. Its methods are safe for concurrent use.
type Caller interface {
	// NewSlot returns a slot with n bytes of memory for bulk data.
	NewSlot(ctx context.Context, n int) (Slot, error)
	// Close ends the connection. No slot may be in use.
	Close() error
}

// AcceptError says that the server did not execute a call (accept_stat, RFC 5531 section 9).
type AcceptError struct {
	Prog, Vers, Proc uint32
	Stat             rpc.AcceptStat
}

// Error implements error.
func (e *AcceptError) Error() string {
	return fmt.Sprintf("the server answered program %d version %d procedure %d with %v", e.Prog, e.Vers, e.Proc, e.Stat)
}
