// Package rxe tests the server on RDMA devices, through libibverbs, with the kernel's NFS and SMB clients: on rdma_rxe (RoCE in
// software) and on siw. The server is in a guest. For the workloads of packages nfs and smb the client is in the same guest. For
// faults of the device or of the network the client is in another guest, because packets to the own address do not leave an rxe
// device.
//
// The server is built with the tag rdmacore, which needs the packages in packages.txt. At most two guests run at a time.
package rxe
