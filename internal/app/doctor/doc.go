// Package doctor says whether clients will use RDMA, and if not, why and what to type.
//
// Finding out is apart from judging. [Gather] collects [Facts] of this machine and of the
// configuration (gather.go, sockets.go); [Examine] is a pure function from these to a
// [Report]. [Connect] tries every transport of a server as a client (prober.go,
// connect_nfs.go, connect_smb.go); connect_judge.go and explain.go say what came of it.
package doctor
