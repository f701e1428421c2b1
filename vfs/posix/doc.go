// Package posix is the backend that publishes a directory of the local file system (Linux 5.8 or later).
//
// # The root is not left
//
// Every name is opened with openat2(2), one component at a time, relative to the directory's descriptor, and
// without following symbolic links or entering mounts (RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS, NO_XDEV). File
// systems mounted below the root are not published: a mount point is listed, and looking it up is denied. If a
// local program moves a directory out of the tree, the server detects it within a second ([vfs.ErrStale]). A file
// that is moved out can still be reached by its old handles, as in every NFS server that does not check subtrees.
//
// # Handles
//
// A handle names the object by the kernel's file handle, or by inode number and a verifier (see [HandleMode]). It
// is authenticated with a key that belongs to the root and the share: a handle from another share opens nothing.
// With HandleTable, the server searches the whole tree for objects that local programs have moved.
//
// # Permissions
//
// If the server runs as root, its own threads take the identity of the caller for each call that changes a name or
// an attribute, and for each question about permissions. So the kernel decides. Its answers are cached per object
// and identity, as long as mode, owner and group stay the same and there is no access control list.
//
// Without that right, the server applies the rules of POSIX mode bits and access control lists itself, and then
// makes the call as its own user. New objects belong to that user, so callers should be mapped to it. Owners cannot
// be changed, and what the server's user may not do is denied to every caller. If the owner may open a file whose
// mode keeps the server out, the server changes the mode for the moment of the opening.
//
// The server reads, writes and searches directories with its own identity, after the permission was checked. Limits
// that the kernel waives for the superuser (quotas, reserved blocks) apply only to the server as a whole.
//
// # Change attribute
//
// The change attribute is the ctime in nanoseconds, advanced by one if a change made through this server did not
// advance it. Since Linux 6.13, file systems advance the ctime with every change after it was read. Before, a
// change made by another process within a few milliseconds of the last may go unnoticed. The server forgets the
// advance when it drops the node, which it does when the node has not been used for long.
//
// # Stability
//
// Commit and SyncMeta are fdatasync(2) and fsync(2); concurrent callers share one call. Stable writes are
// pwritev2(2) with RWF_DSYNC or RWF_SYNC. Every failure counts in [FS.WriteErrors].
//
// # What local programs remove
//
// A descriptor keeps the storage of a removed file. The cache closes such descriptors within two seconds. If a call
// finds the file system full, it closes them at once and tries again.
//
// # Threads
//
// [Config].Budget bounds the calls that are inside one file system at once. Other calls wait, and fail with
// [vfs.ErrTooManyFiles] if they wait too long; clients then try again later. The janitor has one goroutine of its
// own.
//
// # Locks
//
// node.attrs, then changeState.mu or dataState.mu or rightsState.mu, then shard.mu or openList.mu; table.search
// before table.mu. System calls that may block are made under node.attrs, changeState.mu (statx) and dataState.mu
// (open).
package posix
