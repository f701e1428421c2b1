// Package client is a small NFS client for measurements and diagnosis: versions 3 (RFC 1813), 4.1 (RFC 8881) and
// 4.2 (RFC 7862), as much of them as it takes to read and write files. It asks for no delegations and has no back channel.
//
// It does not know how calls travel: a [Caller] carries them, over TCP ([DialTCP]) or over RDMA. Data of a READ
// or WRITE stays where the Caller puts it, and READs and WRITEs allocate nothing in steady state.
package client
