// Package doctor tests `fileserver doctor` in a guest: it examines RDMA devices of each kind there, and connects to the kernel's NFS
// server and to ours.
package doctor
