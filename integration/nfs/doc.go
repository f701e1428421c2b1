// Package nfs holds the NFS workloads that real clients run against the server: scripts for a guest (package guest), the program
// nfswork that they call where a shell is not exact enough, and the tests that put them together.
//
// A workload is scripts/NAME.sh, between lib.sh, which mounts the export and makes sure that it goes where it should, and end.sh,
// which unmounts it. To add one, write the script and add a line to TestWorkloads. Every workload runs in a guest of its own against a
// server of its own, for NFSv3, 4.1 and 4.2, over soft iWARP.
//
// Environment variables change what the tests do, for people who look for a fault:
//
//	FILESERVER_GUEST_KIND=qemu     boots guests without root's help, as an ordinary user's tests do
//	FILESERVER_GUEST_PROTO=tcp     mounts over TCP
//	FILESERVER_GUEST_RACE=1        builds the server with the race detector
//	FILESERVER_GUEST_SHARE=DIR     puts the shares into DIR: /dev/shm makes them fast, another file system makes them different
//	FILESERVER_GUEST_SERVER=knfsd  runs the workloads against the kernel's own server, in a second guest, to compare; it needs
//	                               Debian's nfs-kernel-server, and over siw it loses a client's first call now and then
package nfs
