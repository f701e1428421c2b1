// Package bench measures a file server from a client's side: NFS and SMB, over TCP and over RDMA, as
// `fileserver bench` does. It works with any server, and checks the data it reads as it goes.
//
// [Run] runs jobs. Each job has its own connection and file, and keeps a number of requests outstanding, each in its own
// goroutine. Other measurements use [Dial] and its sessions, too.
package bench
