// Package workload is what the tests of all protocols do with a file system that a guest has mounted (package guest): scripts, the
// program work (cmd/work) that they call where a shell is not exact enough, and the rig of a server outside the guest that can be killed.
//
// A script is run between the protocol's lib.sh, which connects, mounts the share at $M and makes sure that it goes where it should,
// and its end.sh, which unmounts it. lib.sh has to define
//
//	mnt DIR [OPTIONS]  mounts the share
//	other DIR          mounts it a second time, sharing no cache with the first
//	LOCKS              whose byte-range locks are: local (the client's own) or server
//
// Environment variables change what the tests do, for people who look for a fault:
//
//	FILESERVER_GUEST_KIND=qemu  boots guests without root's help, as an ordinary user's tests do
//	FILESERVER_GUEST_PROTO=tcp  mounts over TCP
//	FILESERVER_GUEST_RACE=1     builds the server with the race detector
//	FILESERVER_GUEST_SHARE=DIR  puts the shares into DIR: /dev/shm makes them fast, another file system makes them different
package workload
