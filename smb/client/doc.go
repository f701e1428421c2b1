// Package client is a small SMB 2 and 3 client, for measurements, diagnosis and tests.
//
// [Machine] is the protocol without input and output: it builds messages and takes
// them apart, negotiates and logs on (MS-SMB2 3.2). Tests of the server use it by
// itself, with the whole wire in their hands.
//
// [Client] is a connection of many requests at once over a [transport.Conn]: TCP or
// SMB Direct. Data moves by reference, or by RDMA into memory that the caller has
// registered. In steady state its READs and WRITEs allocate nothing.
package client
