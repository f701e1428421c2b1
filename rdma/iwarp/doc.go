// Package iwarp is the software iWARP provider: RDMAP (RFC 5040) over DDP (RFC
// 5041) over MPA revision 1 and 2 (RFC 5044, 6581) over TCP, in Go alone. Its
// peers are other instances of itself, the Linux kernel's siw, and iWARP adapters.
//
// # Structure
//
// The codecs (mpa.go, ddp.go, rdmap.go, terminate.go, fpdu.go), the
// negotiation (negotiate.go) and the inbound stream machine (stream.go) know of
// no socket, goroutine or clock. Around them:
//
//   - [Provider], listener and connID make connections;
//   - queuePair holds the work queues and decides what a segment may do (inbound.go);
//   - receiver pulls bytes from the socket, in the queue pair's one permanent goroutine;
//   - transmitter turns work requests into FPDUs and hands many of them to TCP in one
//     system call. It runs in whichever goroutine has made work for it, which is
//     the caller of PostSend more often than not; a goroutine of its own exists
//     only while TCP takes no more.
//
// A connecting ID whose peer stays silent sends it RDMA WRITEs of no bytes (rtr.go):
// siw may miss what comes right behind its reply.
//
// # Who touches a buffer
//
// The transmitter, while it holds its mutex, and the receiver's goroutine. The
// receiver's goroutine ends a connection: it takes the transmitter's mutex, marks it
// dead, and only then flushes the work queues. Memory that a peer names by a key
// is pinned (region.acquire) during one non-blocking system call or copy at a
// time, so that Deregister is quick and safe whatever the peer does.
//
// # Lock order
//
// transmitter.mu, then queuePair.mu, then completionQueue.mu; recvQueue.mu, then
// completionQueue.mu. Provider.mu, connID.mu and listener.mu are taken alone or first.
//
// # What a peer learns
//
// The addresses offered to peers are not those of the process. The key and
// address of a READ's sink are made up for that READ and are in no table, so
// nothing but the Read Response that is expected can be placed by them.
package iwarp
