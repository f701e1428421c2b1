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
	Recv             int    // bytes of bulk data that the results may have: at most the slot's memory

	// Results follow accept_stat, without what is in Placed: valid until the slot's next call.
	Results []byte
	// Placed is bulk data that came beside the results (RFC 8166 3.4.6): valid as long.
	Placed []byte
}

// Slot makes one call at a time: it is one goroutine's.
type Slot interface {
	// Data is memory for the data to be sent. Calls with Recv overwrite it.
	Data() []byte
	// Do makes a call. When ctx ends first, the connection may be ended with it.
	// A call that was not executed is an *[AcceptError].
	Do(ctx context.Context, call *Call) error
	// Release gives the slot's memory back.
	Release() error
}

// Caller is a connection. Its methods are safe for concurrent use.
type Caller interface {
	// NewSlot makes a slot with n bytes of memory for bulk data.
	NewSlot(ctx context.Context, n int) (Slot, error)
	// Close ends the connection. No slot is in use.
	Close() error
}

// AcceptError is a call that the server has not executed (RFC 5531 9 accept_stat).
type AcceptError struct {
	Prog, Vers, Proc uint32
	Stat             rpc.AcceptStat
}

// Error implements error.
func (e *AcceptError) Error() string {
	return fmt.Sprintf("the server answers program %d version %d procedure %d with %v", e.Prog, e.Vers, e.Proc, e.Stat)
}
