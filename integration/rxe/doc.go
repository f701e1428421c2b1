// Package rxe lets the kernel's NFS and SMB clients work with the server on RDMA devices, through libibverbs: rdma_rxe (RoCE in
// software) and siw. The server is in a guest: beside the client, in the same guest, for the workloads of packages nfs and smb; in a
// guest of its own where something happens to the device or to the network between the two, for packets to one's own address do not
// leave an rxe device.
//
// The server is built with the tag rdmacore, which needs what packages.txt lists. At most two guests run at a time.
package rxe
