// Package siw tests the RDMA providers, without a protocol on top, against programs of
// other stacks: rdma-core's rping and perftest, on the Linux kernel's siw and rxe in a
// guest. The other side is the command peer, which uses integration/interop: on the
// pure-Go iWARP provider outside the guest, and on rdma/verbs inside. The suite of
// rdma/rdmatest tests both providers against each other in one guest (pair).
package siw
