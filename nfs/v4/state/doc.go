// Package state is what an NFSv4.1 server remembers of its clients: client IDs, sessions and
// their slots, opens, byte-range locks' stateids, leases and the grace period (RFC 8881 2.4, 2.10, 8, 9).
//
// It does no I/O and has no clock or goroutine. Every call that depends on time gets the time as an argument. What the
// caller must do is returned as [Actions]: resources to release, locks to unlock, records to forget. The caller does it
// after the call has returned, so never under a lock of this package. The package claims share reservations from package
// vfs/lock itself: that takes memory only, and calls nothing back.
//
// # Owners and locks
//
// Each kind of state belongs to one owner with one mutex:
//
//	Clients  client IDs by number and by owner, sessions by ID, CREATE_SESSION's slot, what each address has
//	Client   the opens, locks and stateids of one client
//	slot     one slot of a session and its cached reply
//	Grace    the clients that have yet to reclaim
//
// They are taken in the order Clients, Client, Grace, and those of package vfs/lock after them. A slot's mutex is taken
// alone. Leases and the counts of requests in progress, of states and of owners are atomic.
//
// # Courtesy
//
// A client whose lease has expired keeps its state until another client's request conflicts with it. The caller that
// meets the conflict removes the holder with [Clients.Expire] or [Clients.ExpireHolders], and tries again.
package state
