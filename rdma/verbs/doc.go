// Package verbs is the RDMA provider for devices that have a driver: InfiniBand,
// RoCE and iWARP adapters, and the kernel's rdma_rxe and siw, through rdma-core's
// libibverbs and librdmacm.
//
// # Building
//
// The provider is compiled in with the build tag rdmacore, on Linux, with cgo and
// the headers of libibverbs-dev and librdmacm-dev (make build finds out by itself).
// The libraries are opened at run time (dlopen), so that one binary serves without
// RDMA on a machine that has none and uses the adapter on a machine that has one.
// [New] says what is missing: the provider in the binary, or the libraries on the
// machine.
package verbs
