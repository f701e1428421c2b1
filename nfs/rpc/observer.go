package rpc

import "time"

// Observer is told what a [Server] does, for metrics. Its methods must not block.
type Observer interface {
	// Procedure is called once for every procedure at the start; what it returns is told of each call.
	Procedure(p *Program, number uint32, name string) ProcedureObserver
	// Rejected is told of each call that reached no procedure.
	Rejected(c *Call, why Rejection)
	// Replayed is told of each duplicate, and what was done about it.
	Replayed(c *Call, what Replay)
}

// ProcedureObserver is told of the calls of one procedure.
type ProcedureObserver interface {
	// Done is called when the call has been executed, before its reply is sent. c.Status is the status of the protocol.
	Done(c *Call, s AcceptStat, d time.Duration)
}

// Rejection is why a call reached no procedure.
type Rejection uint8

// Rejections.
const (
	RejectMalformed    Rejection = iota // not a call; there is no reply
	RejectRPCVersion                    // RPC_MISMATCH
	RejectAuth                          // AUTH_ERROR
	RejectProgUnavail                   // PROG_UNAVAIL
	RejectProgMismatch                  // PROG_MISMATCH
	RejectProcUnavail                   // PROC_UNAVAIL
)

// String names the rejection for a metric's label.
func (r Rejection) String() string {
	return [...]string{"malformed", "rpc_mismatch", "auth_error", "prog_unavail", "prog_mismatch", "proc_unavail"}[r]
}

// Replay is what was done about a duplicate.
type Replay uint8

// What is done about duplicates.
const (
	ReplayAnswered Replay = iota // answered from the cache
	ReplayDropped                // the first is being executed and will answer on the same connection
	ReplayWaited                 // waited for the first, which came on another connection, and answered with its reply
)

// String names the treatment for a metric's label.
func (r Replay) String() string { return [...]string{"answered", "dropped", "waited"}[r] }

// NoObserver ignores everything; embed it to implement a part.
type NoObserver struct{}

// Procedure implements Observer.
func (NoObserver) Procedure(*Program, uint32, string) ProcedureObserver { return NoObserver{} }

// Rejected implements Observer.
func (NoObserver) Rejected(*Call, Rejection) {}

// Replayed implements Observer.
func (NoObserver) Replayed(*Call, Replay) {}

// Done implements ProcedureObserver.
func (NoObserver) Done(*Call, AcceptStat, time.Duration) {}
