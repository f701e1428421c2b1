// Package lock is the one arbiter of opens with share reservations and of byte-range locks, for all
// protocols: what one client locks over NFS, another finds locked over SMB. It keeps no files, does no I/O and
// has no goroutines; who waits is told by a callback.
//
// # Opens
//
// An [Open] is the claim of an access, and the denial of accesses to others. All pairs of opens of a file agree: none
// has an access that another denies. I/O through an Open needs no further check; I/O without one (NFSv3, the
// special stateids of NFSv4) asks [Manager.CheckIO].
//
// # Byte-range locks
//
// Locks follow POSIX: they belong to an [Owner] and a file; those of one owner never conflict, the new one
// replaces the old where they overlap, and neighbours of the same kind become one. They are advisory.
//
// # Caching
//
// A [Cache] is a client's right to keep data of a file: an oplock or a lease, later a delegation. Whoever does
// something that it may not miss calls [Manager.Recall] first, and waits for the answers.
//
// # Names
//
// [Names] is the lock of the names in a directory, for lookups and changes that nothing may come between.
//
// # Lock order
//
// Names, two in the order of their directories → waits.mu → shard.mu → owners.mu. Of the shards one is locked at a time. Callbacks run with
// none of the mutexes held; those who make them may hold Names.
package lock
