// Package doctor lets `fileserver doctor` look at a guest with RDMA devices of each kind, and be a client of the kernel's own NFS server
// there.
package doctor
