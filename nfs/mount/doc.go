// Package mount is the MOUNT protocol, version 3 (RFC 1813 appendix I): from a path to the file handle that NFSv3 begins with. It is
// registered on the NFS port too, so that clients that are told so (mountport=2049) need no portmapper.
//
// A client gets handles of, and sees, only the exports that admit its address. Below an export's path it may mount any
// directory that it can reach by walking there.
package mount
