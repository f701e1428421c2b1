// Package nfs lets real NFS clients work with the server: the tests put the workloads of package workload, and some of NFS alone, into
// guests (package guest), each against a server of its own, for NFSv3, 4.1 and 4.2, over soft iWARP.
//
// To add a workload, write scripts/NAME.sh, here or in package workload, and add a line to TestWorkloads.
//
// Besides the environment variables of package workload there is, for people who look for a fault,
//
//	FILESERVER_GUEST_SERVER=knfsd  runs the workloads against the kernel's own server, in a second guest, to compare; it needs
//	                               Debian's nfs-kernel-server, and over siw it loses a client's first call now and then
package nfs
