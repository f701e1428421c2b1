// Package client is a small NFS client for measurements and diagnosis. It speaks as much of versions 3 (RFC 1813),
// 4.1 (RFC 8881) and 4.2 (RFC 7862) as it needs to read and write files. It requests no delegations and has no back channel.
//
// A [Caller] carries the calls, over TCP ([DialTCP]) or over RDMA. The data of a READ or WRITE is not copied out of
// the Caller's memory, and READs and WRITEs allocate nothing in steady state.
package client
