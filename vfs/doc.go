// Package vfs is the file-system interface between the protocols and the backends.
//
// A backend implements [FS], [Node] and [File]; that is all a share needs.
// Abilities beyond are one-method interfaces (optional.go) that a Node or File may also
// implement; a protocol asks by type assertion and answers "not supported" itself
// where the ability is missing.
//
// # Concurrency
//
// All methods may be called at any time from any goroutine, and block while the
// storage does. A backend makes each call atomic with respect to others on the
// same object as POSIX demands (a RENAME is seen before or after, never between;
// a READ may see part of a concurrent WRITE). Share reservations, byte-range
// locks and leases are not the backend's: the protocols ask package vfs/lock
// before they call.
//
// # Credentials
//
// Every call that can be denied carries a [Cred]: the identity after squashing
// and mapping. The backend enforces permissions for it (the kernel's rules, or its
// own checks to the same effect); the protocols only add what their exports forbid.
//
// # Durability
//
// Nothing is promised to be stable before [File.Commit] returns, or [File.WriteAt] with
// a stability other than [Unstable]. Changes to names and attributes are stable when the
// call returns if the backend says so in [Caps].StableMetadata; otherwise the protocols
// that must promise it call [FS.SyncMeta].
//
// # References
//
// A Node obtained from a call is released exactly once by Release. A File is
// closed exactly once; it keeps the object alive after its last name is removed. Both are cheap to
// get again from a backend that caches.
package vfs
