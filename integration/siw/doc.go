// Package siw tests rdma/iwarp against the Linux kernel's own software iWARP,
// without a protocol on top: rdma-core's rping in a guest, rpingd outside.
package siw
