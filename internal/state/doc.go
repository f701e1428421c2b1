// Package state keeps the records that survive a restart of the server, in one bbolt file: who the
// server is, how often it was started, whether it stopped in order, and the records of its parts, each in a [Bucket].
//
// Every change is on stable storage when the call returns. One server at a time has the file open.
package state
