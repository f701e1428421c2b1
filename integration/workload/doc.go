// Package workload holds the workloads that the tests of all protocols run on a file system that a guest has mounted (package guest):
// the scripts, and the program work (cmd/work) for checks that a shell cannot make. It also has the rig for a server that can be killed.
//
// The protocol's lib.sh runs before a script: it connects, mounts the share at $M and checks the mount. The protocol's end.sh runs after
// it and unmounts the share. lib.sh must define
//
//	mnt DIR [OPTIONS]  mounts the share
//	other DIR          mounts it a second time, without a common cache
//	LOCKS              who keeps byte-range locks: local (the client) or server
//
// These environment variables help in debugging:
//
//	FILESERVER_GUEST_KIND=qemu  boots guests without root's privileges, as other users' tests do
//	FILESERVER_GUEST_PROTO=tcp  mounts over TCP
//	FILESERVER_GUEST_RACE=1     builds the server with the race detector
//	FILESERVER_GUEST_SHARE=DIR  puts the shares into DIR: /dev/shm makes them fast, another file system makes them different
package workload
