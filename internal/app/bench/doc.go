// Package bench measures a file server from a client's side: NFS and SMB, over TCP and over RDMA, as
// `fileserver bench` does. It works with any server, and checks the data it reads as it goes.
//
// [Run] runs jobs: each has a connection and a file of its own, and keeps a number of
// requests outstanding, each from a goroutine of its own. [Dial] and what it returns serve other measurements, too.
package bench
