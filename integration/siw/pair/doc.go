// Package pair tests the pure-Go iWARP provider and rdma/verbs, on an iWARP device,
// against each other: it runs the suite of rdma/rdmatest with one on either side. It
// needs the address of a device; integration/siw runs it in a guest, on the kernel's
// siw.
package pair
