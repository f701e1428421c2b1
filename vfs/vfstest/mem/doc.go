// Package mem is a file system in memory, for tests and demonstrations. It has every ability package vfs names,
// enforces permissions as Linux does, and can be made to fail, to stall and to crash.
//
// # Objects and references
//
// An inode is its own [vfs.Node]. It lives while it has a name, a Node reference or an open File; then its
// handle is stale for good. Handles are 128 random bits.
//
// Reads do not update the time of access (as with mount -o noatime).
//
// # Lock order
//
//	FS.ns (the shape of the tree: entries, parents) → inode.mu (attributes, data; two at once in the order of their
//	file ids) → journal.mu, shard.mu, FS.files.mu (leaves)
//
// # Crashes
//
// With [Options].Crashable the file system remembers what stable storage holds. [FS.Crash] returns the file system
// as a restarted server would find it. With [Options].UnstableMetadata that is true of names and attributes too,
// which [FS.SyncMeta] then makes stable, as a journal does: with a change, all changes before it.
package mem
