// Package interop is the other end of the programs by which RDMA stacks are tried
// against each other: rdma-core's rping, server and client ([ServeRping], [Rping]),
// and the server that perftest's clients want ([Perftest]). They use the verbs as
// any provider gives them, and check what they can of what arrives.
//
// Nothing here is for serving files. The memory that perftest asks for is open to
// the peer, and who connects is trusted to speak the program's protocol.
package interop
