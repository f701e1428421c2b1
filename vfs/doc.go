// Package vfs is the file-system interface between the protocols and the backends.
//
// A backend implements [FS], [Node] and [File]; that is all a share needs. Further abilities are one-method
// interfaces (optional.go) that a Node or File may also implement. A protocol asks for them by type assertion and
// answers "not supported" itself where the ability is missing.
//
// # Concurrency
//
// All methods may be called at any time from any goroutine, and block while the storage does. A backend makes each
// call atomic with respect to other calls on the same object, as POSIX demands: no call sees a RENAME half done,
// but a READ may see part of a concurrent WRITE. The backend knows nothing of share reservations, byte-range locks
// and leases: the protocols ask package vfs/lock before they call.
//
// # Credentials
//
// Every call that can be denied carries a [Cred]: the identity after squashing and mapping. The backend enforces
// permissions for it (the kernel's rules, or its own checks to the same effect); the protocols only add what their
// exports forbid.
//
// # Durability
//
// Data is stable only when [File.Commit] has returned, or [File.WriteAt] with a stability other than [Unstable]. If
// the backend sets [Caps].StableMetadata, changes of names and attributes are stable when the call returns.
// Otherwise the protocols that must promise it call [FS.SyncMeta].
//
// # References
//
// A Node obtained from a call is released exactly once by Release. A File is closed exactly once; it keeps the
// object alive after its last name is removed. A backend with a cache opens both again at little cost.
package vfs
