// Package mount is the MOUNT protocol, version 3 (RFC 1813 appendix I): from a path to the file handle that NFSv3 begins with. It is
// registered on the NFS port too, so that clients that are told so (mountport=2049) need no portmapper.
//
// A client is given handles of, and told about, exports that admit its address, and no others. Below an export's path it may
// mount any directory that it may reach by walking there.
package mount
