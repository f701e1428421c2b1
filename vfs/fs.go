package vfs

import "context"

// FS is one file system, published as a share.
type FS interface {
	// Root is the share's root directory.
	Root(ctx context.Context) (Node, error)
	// Resolve finds the object of a permanent handle, whatever its name is now. It fails with [ErrStale] if this
	// file system did not create the handle or the object is gone, and with [ErrBadHandle] if the handle is
	// malformed.
	Resolve(ctx context.Context, h Handle) (Node, error)
	// StatFS reports capacity as c sees it.
	StatFS(ctx context.Context, c *Cred) (StatFS, error)
	// SyncMeta makes stable all changes of names and attributes below the nodes that were made before the call.
	SyncMeta(ctx context.Context, nodes ...Node) error
	// Caps describes the file system. The result never changes.
	Caps() Caps
	// Close ends all use of the file system. Its Nodes and Files fail with [ErrIO] afterwards.
	Close() error
}

// Node is an object of a file system: file, directory, symbolic link or special file.
type Node interface {
	// Handle is the permanent name of the object: it stays valid over renames and restarts, never names another
	// object later, and cannot be guessed.
	Handle() Handle
	// Identity returns which object this is: the same for every FS and name by which it is reached. It allocates
	// nothing.
	Identity() Identity
	// Kind is the type of the object.
	Kind() Kind
	// Release releases the reference.
	Release()

	// GetAttr returns the attributes in mask, and any others that cost nothing; [Attr].Mask says which. Every
	// caller that has the Node may read its attributes.
	GetAttr(ctx context.Context, mask AttrMask) (Attr, error)
	// SetAttr changes all attributes in s.Mask, or none if it fails.
	SetAttr(ctx context.Context, c *Cred, s *SetAttr) error
	// Access returns which of the wanted permissions c has.
	Access(ctx context.Context, c *Cred, want Access) (Access, error)

	// Lookup finds an entry of a directory. It does not accept "." and ".."; [Node.Parent] returns the directory
	// above. Symbolic links are returned, not followed.
	Lookup(ctx context.Context, c *Cred, name string) (Node, error)
	// Parent is the directory above a directory; the root's is the root itself.
	Parent(ctx context.Context, c *Cred) (Node, error)
	// Create creates a regular file with the attributes of s. If the name exists and excl is set, it fails with
	// [ErrExist]. If the name exists and excl is not set, it returns the existing object unchanged, with created
	// false.
	Create(ctx context.Context, c *Cred, name string, excl bool, s *SetAttr) (n Node, created bool, err error)
	// Mkdir creates a directory.
	Mkdir(ctx context.Context, c *Cred, name string, s *SetAttr) (Node, error)
	// Symlink creates a symbolic link that contains target, which is not interpreted.
	Symlink(ctx context.Context, c *Cred, name, target string, s *SetAttr) (Node, error)
	// Mknod creates a FIFO, socket or device node.
	Mknod(ctx context.Context, c *Cred, name string, kind Kind, dev Dev, s *SetAttr) (Node, error)
	// Link creates another name, in this directory, for an object that is not a directory.
	Link(ctx context.Context, c *Cred, name string, target Node) error
	// Remove removes a name. If dir is set, the name must be that of an empty directory ([ErrNotDir],
	// [ErrNotEmpty]); otherwise it must not be that of a directory ([ErrIsDir]).
	Remove(ctx context.Context, c *Cred, name string, dir bool) error
	// Rename moves the entry from of this directory to the entry to of toDir, a directory of the same file system.
	// It replaces an existing entry as rename(2) does.
	Rename(ctx context.Context, c *Cred, from string, toDir Node, to string) error
	// Readlink returns the target of a symbolic link.
	Readlink(ctx context.Context, c *Cred) (string, error)
	// ReadDir calls fn for the entries after cookie (0: from the first) in a stable order, without "." and "..",
	// until fn returns false or there are no more entries. Cookies stay valid while the directory changes, and are
	// never 0, 1 or 2. The entries carry the attributes in mask, and handles if wantHandle is set. The entry is
	// valid only during the call of fn, and fn must not call the file system. eof reports that no entry follows the
	// last one that fn accepted.
	ReadDir(ctx context.Context, c *Cred, cookie uint64, mask AttrMask, wantHandle bool, fn func(*DirEntry) bool) (eof bool, err error)

	// Open opens a regular file for reading, writing or both, after checking that c may do so. Two flags admit more
	// callers, for protocols whose clients have checked the permission already: [AccessOwnerOverride] and
	// [ReadIfExecutable].
	Open(ctx context.Context, c *Cred, flags OpenFlags) (File, error)
}

// File is an open regular file.
type File interface {
	// ReadAt reads up to len(p) bytes at off straight into p. It returns fewer only at the end of the file; eof
	// reports that off+n is at or after the end.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, eof bool, err error)
	// WriteAt writes p at off, extending the file as needed. Before it returns, the data is as stable as s demands.
	// n < len(p) only with an error.
	WriteAt(ctx context.Context, p []byte, off int64, s Stability) (n int, err error)
	// Commit makes the data written to [off, off+n) stable, with the metadata needed to read it again. n = 0 means
	// up to the end of the file.
	Commit(ctx context.Context, off, n int64) error
	// GetAttr is [Node.GetAttr] of the open object.
	GetAttr(ctx context.Context, mask AttrMask) (Attr, error)
	// Close closes the file. It does not report write errors; Commit does.
	Close() error
}

// OpenFlags say what a file is opened for.
type OpenFlags uint8

// Flags of Open.
const (
	OpenRead OpenFlags = 1 << iota
	OpenWrite
	// AccessOwnerOverride admits the owner of the file whatever its mode is.
	AccessOwnerOverride
	// ReadIfExecutable lets a caller that may execute the file also read it, because a client must read what it
	// executes (RFC 1813 4.4, RFC 8881 18.22.4). It matters only where the file is opened for reading alone.
	ReadIfExecutable
)

// Stability says how stable a write must be when it returns (RFC 1813 3.3.7 stable_how).
type Stability uint8

// Stabilities.
const (
	Unstable Stability = iota // may be lost in a crash
	DataSync                  // data, and the metadata needed to read it
	FileSync                  // data and all metadata
)

// Access is a set of permissions (RFC 1813 3.3.4).
type Access uint8

// Permissions. Execute on a directory is called Lookup.
const (
	AccessRead Access = 1 << iota
	AccessLookup
	AccessModify
	AccessExtend
	AccessDelete
	AccessExecute
)

// DirEntry is an entry of a directory.
type DirEntry struct {
	Name   string
	Cookie uint64 // ReadDir with this cookie continues after this entry
	Kind   Kind   // KindUnknown if the backend would need another call to know it
	FileID uint64
	Attr   Attr   // the attributes asked for, as far as available
	Handle Handle // zero unless asked for
}

// StatFS is the capacity of a file system in bytes and objects.
type StatFS struct {
	TotalBytes, FreeBytes, AvailBytes uint64
	TotalFiles, FreeFiles, AvailFiles uint64
	BlockSize                         uint32
}

// Caps describe a file system.
type Caps struct {
	FSID            [16]byte // identifies the file system, the same after a restart
	MaxName         int      // bytes
	MaxLink         uint32
	MaxFileSize     int64
	CaseInsensitive bool
	ReadOnly        bool
	StableMetadata  bool  // names and attributes are stable when a call returns
	ChangeIsCounter bool  // Attr.Change increases with every change
	NoSpecial       bool  // Mknod is refused
	TimeGranularity int64 // nanoseconds
	Holes           bool  // Files implement Allocator and Seeker
	Clones          bool  // Files implement Cloner
}
