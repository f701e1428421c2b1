// Package nfs tests the server with the kernel's NFS client in guests (package guest). It runs the workloads of package workload, and
// some for NFS only, over soft iWARP with NFSv3, 4.1 and 4.2. Each has its own server.
//
// To add a workload, write scripts/NAME.sh, here or in package workload, and add a line to TestWorkloads.
//
// Besides the environment variables of package workload there is one for debugging:
//
//	FILESERVER_GUEST_SERVER=knfsd  runs the workloads against the kernel's server, in a second guest; needs Debian's
//	                               nfs-kernel-server; over siw knfsd sometimes loses a client's first call
package nfs
