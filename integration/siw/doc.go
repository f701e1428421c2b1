// Package siw tests the RDMA providers with programs that others wrote for other
// stacks, without a protocol on top: rdma-core's rping and perftest, on the Linux
// kernel's siw and rxe in a guest. The other side is integration/interop, by the command
// peer: on the pure-Go iWARP provider outside the guest, and on rdma/verbs inside.
// What both providers are to each other the suite of rdma/rdmatest says, between
// them, in one guest (pair).
package siw
