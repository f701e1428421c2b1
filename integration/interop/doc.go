// Package interop is the other side of the programs that test RDMA stacks against
// each other: the server and the client of rdma-core's rping ([ServeRping], [Rping]),
// and the server of perftest's clients ([Perftest]). It works with any provider, and
// checks the data that arrives as far as the programs allow.
//
// It is only for tests: perftest gives the peer access to memory, and the peer is
// trusted to follow the program's protocol.
package interop
