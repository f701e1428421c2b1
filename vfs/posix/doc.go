// Package posix is the backend that publishes a directory of the local file system (Linux 5.8 or later).
//
// # What cannot be left
//
// Every name is opened with openat2(2), one component at a time, relative to the directory's descriptor, and without
// following symbolic links or entering mounts (RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS, NO_XDEV). What is mounted
// below the root is not published: its name is listed, and looking it up is denied. A
// directory that others move out of the tree is found out within a second ([vfs.ErrStale]);
// a file so moved is, as in every NFS server that does not check subtrees, still reached by the handles given out before.
//
// # Handles
//
// A handle names the object by the kernel's file handle, or by inode number and a
// verifier (see [HandleMode]), authenticated with a key that belongs to the root and the share: one that was not given
// out for this share opens nothing. With HandleTable, objects that others have moved are searched for in the whole tree.
//
// # Permissions
//
// As root, threads of our own take the identity of the caller for each call that makes or changes a name or an attribute, and
// for each question about permissions, so that the kernel decides; its answers are remembered per object and identity as
// long as mode, owner, group and the absence of an access control list last. Without that right, the rules of POSIX mode bits
// and access control lists are applied before the call, which then is made as the server's user: new objects
// are that user's, so that callers should be mapped to it, owners cannot be changed, and what the server's user may
// not do is denied to everyone. Where the owner's privilege opens a file whose mode keeps the server out, the mode
// is changed for the moment of the opening.
//
// Reading, writing and searching directories is done with the server's own identity after
// permission was established. Limits that the kernel waives for the superuser (quotas, reserved blocks) hold for
// the server as a whole only.
//
// # Change attribute
//
// The ctime in nanoseconds, advanced by one where a change made through us did not advance it. File systems
// advance the ctime with every change that was observed since Linux 6.13; before, a change made by another
// process within a few milliseconds of the last may go unnoticed. The advance is forgotten together with the
// node, when it has not been used for long.
//
// # Stability
//
// Commit and SyncMeta are fdatasync(2) and fsync(2), shared by all who ask at the same time; stable writes
// are pwritev2(2) with RWF_DSYNC or RWF_SYNC. Every failure counts in [FS.WriteErrors].
//
// # What local programs remove
//
// A descriptor keeps the storage of a removed file. Those in the cache are let go of within two seconds, and at once when
// the file system is full: the call that finds it so is made again then.
//
// # Threads
//
// At most as many calls are inside one file system as [Config].Budget says; others wait, and are told to try again later
// ([vfs.ErrTooManyFiles]). The janitor's goroutine is one more.
//
// # Locks
//
// node.attrs, then changeState.mu or dataState.mu or rightsState.mu, then shard.mu or openList.mu; table.search
// before table.mu. System calls that may block are made under node.attrs, changeState.mu (statx) and dataState.mu (open).
package posix
