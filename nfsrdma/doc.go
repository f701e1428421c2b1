// Package nfsrdma is RPC-over-RDMA version 1 (RFC 8166), with the private data of
// RFC 8797 and the bindings of RFC 8267: the server's side, which hands the calls
// to an [rpc.Handler], and a client's side for tests, measurements and diagnosis.
//
// # The path of a call
//
// The completion goroutine of a connection parses and checks the whole transport
// header of a message before it allocates anything. If the client left parts of the
// call in its memory (Read chunks) they are pulled first. A worker then runs the call
// and answers it: with RDMA WRITEs for the results that go into the client's memory
// (Write chunks) or for the whole reply (Reply chunk), and one SEND, posted together.
//
// # Rules kept
//
//   - One SEND per call, and no others: a client posts one receive per call, and a
//     SEND without a receive ends the connection.
//   - The receive of a call is posted again before the reply that returns its credit.
//   - A call's buffers come from the pool in one order: reply buffer (kept by
//     the connection), then Read chunks or result payloads.
//   - A key is invalidated only if the client allows it, the reply is no RDMA_ERROR,
//     and the key is the only one in the call's header.
package nfsrdma
