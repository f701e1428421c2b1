// Package smbdirect is the SMB Direct transport (MS-SMBD): SMB2 messages of any
// length over the SENDs of a reliable connection, with credits, and the RDMA READs and
// WRITEs that move file data. It has the server's side and the client's, and a
// net.Conn over the latter, so that an SMB client written for TCP works over RDMA.
//
// A state machine without goroutines, clock or device makes all decisions (machine.go):
// its inputs are messages, posts and times, its outputs the SENDs. Conn drives it.
//
// # Rules kept
//
//   - A receive counts as available when its post has succeeded, and is granted once.
//   - The last send credit is spent only by a message that grants credits.
//   - The fragments of a message are not interleaved with anything.
//   - Received data is copied out of the receive buffer at once, and the buffer is
//     posted again: a message that is being reassembled holds no receives.
//   - A message of its own grants credits when the peer runs low, but never in answer
//     to a message that only granted.
package smbdirect
