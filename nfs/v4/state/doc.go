// Package state is what an NFSv4.1 server remembers of its clients: client IDs, sessions and
// their slots, opens, byte-range locks' stateids, leases and the grace period (RFC 8881 2.4, 2.10, 8, 9).
//
// It does no I/O and has no clock or goroutine: every call that depends on time is
// handed the time, and what must happen outside comes back as values: [Resource]s
// to release, [LockState]s to unlock, records to write or to forget ([Actions]). The caller does that
// after the call has returned, so never under a lock of this package. Share reservations, which are memory only and call
// nobody back, it claims of package vfs/lock itself.
//
// # Owners and locks
//
// Each kind of state belongs to one owner with one mutex:
//
//	Clients  client IDs by number and by owner, sessions by ID, CREATE_SESSION's slot, what each address has
//	Client   the opens, locks and stateids of one client
//	slot     one slot of a session and its cached reply
//	Grace    who has yet to reclaim
//
// They are taken in the order Clients, Client, Grace; those of package vfs/lock behind them. A slot's is taken alone. Leases
// and counts of requests in progress are atomic.
//
// # Courtesy
//
// A client whose lease has expired keeps its state until another client's
// request conflicts with it: the caller that meets a conflict
// has [Clients.Expire] or [Clients.ExpireHolders] remove the holder, and tries again.
package state
