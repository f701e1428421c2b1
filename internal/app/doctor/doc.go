// Package doctor reports whether clients will use RDMA, and if not, why and what to type.
//
// Collecting facts is separate from judging them. [Gather] collects [Facts] about this machine and the configuration (gather.go,
// sockets.go). [Examine] is a pure function from these to a [Report]. [Connect] tries every transport of a server as a client
// (prober.go, connect_nfs.go, connect_smb.go); connect_judge.go and explain.go judge the results.
package doctor
