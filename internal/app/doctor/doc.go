// Package doctor says whether clients will use RDMA, and if not, why and what to type.
//
// It has three parts. [Gather] collects [Facts] of the machine and the configuration; [Examine] is a pure function from these to
// a [Report]; [Connect] tries every transport of a server from the client's side, and explains what happened.
package doctor
