// Package lock decides, for all protocols, about opens with share reservations and about byte-range locks: a lock
// that one client holds over NFS conflicts with requests of another over SMB. It stores no files, does no I/O and
// has no goroutines; a waiting caller is notified by a callback.
//
// # Opens
//
// An [Open] claims some accesses to a file, and denies others some accesses. No open of a file ever has an access
// that another open of it denies. I/O through an Open needs no further check; I/O without one (NFSv3, the special
// stateids of NFSv4) calls [Manager.CheckIO].
//
// # Byte-range locks
//
// Locks follow POSIX: they belong to an [Owner] and a file. Locks of one owner never conflict: a new lock replaces
// the old ones where they overlap, and adjacent locks of the same kind are merged. Locks are advisory.
//
// # Caching
//
// A [Cache] is a client's right to cache data of a file: an oplock or a lease, later a delegation. Before an action
// that would make the cached data wrong, the caller calls [Manager.Recall] and waits for the answers.
//
// # Names
//
// [Names] locks the names in a directory, so that a lookup and the change that follows it are atomic.
//
// # Lock order
//
// Names (two of them in the order of their directories) → waits.mu → shard.mu → owners.mu. At most one shard is
// locked at a time. Callbacks run with none of the mutexes held, but their caller may hold Names.
package lock
