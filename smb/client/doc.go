// Package client is a small SMB 2 and 3 client, for measurements, diagnosis and tests.
//
// [Machine] is the protocol without input and output: it builds and parses messages,
// negotiates and logs on (MS-SMB2 3.2). Tests of the server use it alone, so that they
// can change every byte.
//
// [Client] is a connection over TCP or SMB Direct (a [transport.Conn]) that has many
// requests outstanding. Data moves by reference, or by RDMA into memory that the caller
// has registered. In steady state its READs and WRITEs allocate nothing.
package client
