// Package v4 is NFSv4.1 (RFC 8881) and NFSv4.2 (RFC 7862, with the extended attributes of RFC 8276), without
// delegations, layouts and back channel.
//
// A COMPOUND is executed as it is decoded. An operation is a handler with the decoding of its arguments and the
// encoding of its results; related operations share a file op_*.go. A row in the table of ops.go says in which minor
// versions an operation exists and what it needs before its handler runs. What clients hold is in package state; names,
// data and attributes are the exports' [vfs.FS]; share reservations and byte-range locks are package vfs/lock's.
//
// Above the exports lies a read-only pseudo file system (RFC 8881 7.3): a directory per component of the exports'
// paths, of which a client sees those that lead to an export it may use.
//
// File names are bytes, as in POSIX: they need not be UTF-8.
//
// Bulk data is by reference: READ's goes out in the buffer it was read into, WRITE's is written from the buffer it came in.
package v4
