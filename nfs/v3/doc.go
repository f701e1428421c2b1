// Package v3 is NFS version 3 (RFC 1813).
//
// Every procedure has a file of its own: its arguments and results with both
// directions of their codec, and its handler. The table in program.go is the dispatch. Clients
// (tests, benchmarks, diagnosis) use the same types.
//
// READ goes from [vfs.File.ReadAt] straight into the buffer that the transport
// sends, WRITE from the buffer the transport received into [vfs.File.WriteAt]; neither allocates.
//
// # Stability
//
// WRITE is as stable as asked, and says so. Changes of names and attributes are stable when they are
// answered (RFC 1813 4.8): where the backend does not promise it, [vfs.FS.SyncMeta] is called first.
//
// # Weak cache consistency
//
// Changes of directories carry the attributes from before the change, taken under [lock.Names]. For files they are
// left out, because another change may come between (RFC 1813 2.6).
package v3
